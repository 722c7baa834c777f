package io.epochal.rest.source

import org.apache.spark.sql.types.StructField

import io.epochal.kit.record.{RecordOrigin, RecordReading, RecordRules}
import io.epochal.kit.spark.{TextColumns, TextMap}

/** The columns for the parameters that select a list: `_params`, and those of `paramColumns`. One for each task. */
final private[rest] class ParamColumns(rules: RecordRules, reading: RecordReading) {
  private val columns = ParamColumns.of(rules).filter(column => reading.schema.fieldNames.contains(column.name))
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
  def of(rules: RecordRules): Seq[StructField] =
    rules.origin.filterNot(column => OriginColumns.all.exists(_.name == column.name))

  /** The options with the types that a schema gives to these columns. */
  def withTypes(options: RestOptions, schema: Seq[StructField]): RestOptions = {
    val types = schema.map(field => field.name -> field.dataType).toMap
    val columns = of(options.rules)
    withOrigin(
      options,
      options.rules.origin.map { column =>
        if (columns.contains(column)) column.copy(dataType = types.getOrElse(column.name, column.dataType)) else column
      })
  }

  /** The options with these columns for a record's origin. */
  def withOrigin(options: RestOptions, columns: Seq[StructField]): RestOptions =
    options.copy(requests = options.requests.copy(rules = options.rules.copy(origin = columns)))
}
