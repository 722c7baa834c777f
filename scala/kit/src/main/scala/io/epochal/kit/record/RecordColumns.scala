package io.epochal.kit.record

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.spark.{ArrayRow, CsvRowParser, JsonRowParser}

/** The columns that a query needs.
  *
  * @param schema
  *   the columns asked for
  * @param timeZone
  *   the session's: a text that names no zone is a time there
  */
final private[epochal] case class RecordReading(schema: StructType, timeZone: String)

/** Where the records of a page came from. */
private[epochal] trait RecordOrigin {

  /** The value of the column of that name, as Spark holds it in rows; null where it is not known. */
  def value(column: String): Any
}

/** The columns of a task's rows: fields of records, and those that stand apart from them. Made in the task. One thread at a time.
  *
  * @param ofTask
  *   what is the same for all rows, by the names of columns
  */
final private[epochal] class RecordColumns(
    reading: RecordReading,
    rules: RecordRules,
    ofTask: Map[String, Any] = Map.empty
) {
  import reading.schema

  private val apart = rules.apart.map(_.name).toSet
  private val unknown = rules.unknown.filter(schema.fieldNames.contains(_))
  private val corrupt = rules.corrupt.fold(-1)(schema.fieldNames.indexOf(_))
  private val required = schema.fields.indices.filterNot(schema(_).nullable).toArray
  private val ofOrigin = rules.origin.map(column => schema.fieldNames.indexOf(column.name)).filter(_ >= 0).toArray
  private var origin: RecordOrigin = _
  private var originValues = valuesOf(null)

  /** Whether rows need nothing of a record. */
  val none: Boolean = schema.isEmpty && rules.prunable

  lazy val json: JsonRowParser = new JsonRowParser(schema, reading.timeZone, apart, unknown)

  lazy val csv: CsvRowParser = new CsvRowParser(schema, reading.timeZone, apart, unknown)

  /** The first column that must have a value, and has none; -1: all have. */
  def lacking(row: InternalRow): Int = {
    var i = 0
    while (i < required.length && !row.isNullAt(required(i))) i += 1
    if (i < required.length) required(i) else -1
  }

  /** A row without any value. */
  def empty: InternalRow = ArrayRow(new Array[Any](schema.length))

  def name(column: Int): String = schema(column).name

  def setCorrupt(row: InternalRow, record: => Array[Byte]): Unit =
    if (corrupt >= 0) row.update(corrupt, UTF8String.fromBytes(record))

  /** Fills in where the record came from. */
  def setOrigin(row: InternalRow, from: Option[RecordOrigin]): Unit = if (ofOrigin.length > 0) {
    val known = from.orNull
    if (known ne origin) {
      origin = known
      originValues = valuesOf(known)
    }
    var i = 0
    while (i < ofOrigin.length) {
      row.update(ofOrigin(i), originValues(i))
      i += 1
    }
  }

  private def valuesOf(origin: RecordOrigin): Array[Any] = ofOrigin.map { column =>
    val field = name(column)
    ofTask.getOrElse(field, if (origin == null) null else origin.value(field))
  }
}
