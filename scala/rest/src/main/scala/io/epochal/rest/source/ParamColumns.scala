package io.epochal.rest.source

import org.apache.spark.sql.types.StructField

import io.epochal.kit.record.{RecordOrigin, RecordReading}
import io.epochal.kit.spark.{TextColumns, TextMap}

/** The columns for the parameters that select a list: `_params`, and those of `paramColumns`. One for each task. */
final private[rest] class ParamColumns(options: RestOptions, reading: RecordReading) {
  private val columns = ParamColumns.of(options).filter(column => reading.schema.fieldNames.contains(column.name))
  private val asMap = reading.schema.fieldNames.contains(OriginColumns.Params.name)
  private lazy val texts = new TextColumns(columns, reading.timeZone)

  /** The values of these columns, by name.
    *
    * @param params
    *   by name; a column without one is NULL
    */
  def values(params: Map[String, String]): Map[String, Any] =
    columns.flatMap(column => params.get(column.name).map(text => column.name -> value(column, text))).toMap ++
      Option.when(asMap)(OriginColumns.Params.name -> TextMap(params))

  /** The origin of a journalled page. */
  def origin(front: PageFront): Option[RecordOrigin] =
    if (front.params.isEmpty) front.origin
    else {
      val ours = values(front.params)
      Some(column => ours.getOrElse(column, front.origin.map(_.value(column)).orNull))
    }

  private def value(column: StructField, text: String): Any = texts
    .value(column.name, text)
    .getOrElse(
      RecordOrigin.Misfit(
        s"the column '${column.name}' is ${column.dataType.sql}, which the value that selects the list does not fit"))
}

private[rest] object ParamColumns {

  /** The columns of `paramColumns`. */
  def of(options: RestOptions): Seq[StructField] =
    options.rules.origin.filterNot(column => OriginColumns.all.exists(_.name == column.name))

  /** The options with the types that a schema gives to these columns. */
  def typed(options: RestOptions, schema: Seq[StructField]): RestOptions = {
    val declared = schema.map(field => field.name -> field).toMap
    val ours = of(options).map(_.name).toSet
    if (!ours.exists(declared.contains)) options
    else {
      val origin = options.rules.origin.map { column =>
        if (ours(column.name)) declared.get(column.name).fold(column)(field => column.copy(dataType = field.dataType))
        else column
      }
      withOrigin(options, origin)
    }
  }

  /** The options with these columns for a record's origin. */
  def withOrigin(options: RestOptions, columns: Seq[StructField]): RestOptions = {
    val rules = options.rules.copy(origin = columns)
    options.copy(rules = rules, fanOut = options.fanOut.map(_.withRules(rules)))
  }
}
