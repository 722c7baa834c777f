package io.epochal.kit.record

import java.util.{Collections, LinkedHashMap}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.kit.spark.{ArrayRow, CsvRowParser, JsonRowParser}

/** The columns of a task's rows: fields of records, and columns with other values. Created in the task. One thread at a time.
  *
  * @param ofTask
  *   values that are the same for all rows, by column name
  */
final private[epochal] class RecordColumns(
    reading: RecordReading,
    rules: RecordRules,
    ofTask: Map[String, Any] = Map.empty
) {
  import reading.schema

  private val apart = rules.apart.map(_.name).toSet
  private val unknownColumn = rules.unknown.filter(schema.fieldNames.contains(_))
  private val corrupt = rules.corrupt.fold(-1)(schema.fieldNames.indexOf(_))
  private val requiredColumns = schema.fields.indices.filterNot(schema(_).nullable).toArray
  private val ofOrigin = rules.origin.map(column => schema.fieldNames.indexOf(column.name)).filter(_ >= 0).toArray
  private var origin: RecordOrigin = _
  private var originValues = valuesOf(null)

  /** The reason why no record of the current origin fits. */
  var misfit: Option[RecordOrigin.Misfit] = misfitOf(originValues)

  /** Whether values are found by position, or by a header that must have all columns. */
  val byPosition: Boolean = rules.format.isInstanceOf[RecordFormat.Csv]

  /** Whether this JVM has logged no warning about the columns of this query. */
  def isFirstWarning: Boolean = RecordColumns.isFirst(reading.scan)

  /** Whether rows need no value from the record. */
  val none: Boolean = schema.isEmpty && rules.prunable

  lazy val json: JsonRowParser = new JsonRowParser(schema, reading.timeZone, apart, unknownColumn)

  lazy val csv: CsvRowParser = new CsvRowParser(schema, reading.timeZone, apart, unknownColumn)

  /** The first NOT NULL column without a value; -1 if there is none. */
  def lacking(row: InternalRow): Int = {
    var i = 0
    while (i < requiredColumns.length && !row.isNullAt(requiredColumns(i))) i += 1
    if (i < requiredColumns.length) requiredColumns(i) else -1
  }

  def empty: InternalRow = ArrayRow(new Array[Any](schema.length))

  def name(column: Int): String = schema(column).name

  /** Bytes that are not UTF-8 become U+FFFD. */
  def setCorrupt(row: InternalRow, record: => Array[Byte]): Unit =
    if (corrupt >= 0) row.update(corrupt, UTF8String.fromBytes(record).makeValid())

  /** Fills in the columns of the record's origin. */
  def setOrigin(row: InternalRow, from: Option[RecordOrigin]): Unit = if (ofOrigin.length > 0) {
    val knownOrigin = from.orNull
    if (knownOrigin ne origin) {
      origin = knownOrigin
      originValues = valuesOf(knownOrigin)
      misfit = misfitOf(originValues)
    }
    var i = 0
    while (i < ofOrigin.length) {
      row.update(ofOrigin(i), if (originValues(i).isInstanceOf[RecordOrigin.Misfit]) null else originValues(i))
      i += 1
    }
  }

  private def misfitOf(values: Array[Any]): Option[RecordOrigin.Misfit] =
    values.collectFirst { case misfit: RecordOrigin.Misfit => misfit }

  private def valuesOf(origin: RecordOrigin): Array[Any] = ofOrigin.map { column =>
    val field = name(column)
    ofTask.getOrElse(field, if (origin == null) null else origin.value(field))
  }
}

private object RecordColumns {

  /** The latest queries with a warning. */
  private val warnedColumns = Collections.newSetFromMap(new LinkedHashMap[String, java.lang.Boolean] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[String, java.lang.Boolean]): Boolean = size > Remembered
  })
  private val Remembered = 1000

  def isFirst(scan: String): Boolean = synchronized(warnedColumns.add(scan))
}
