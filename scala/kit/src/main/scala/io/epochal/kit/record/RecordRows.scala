package io.epochal.kit.record

import java.util.{Arrays, Collections, LinkedHashMap, UUID}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.kit.spark.{ArrayRow, CsvRowParser, JsonRowParser}

/** The rows of one task: each record of its pages, with the mode's handling of records that do not fit. One thread at a time.
  *
  * @param place
  *   where the records come from, for an error
  */
final private[epochal] class RecordRows(columns: RecordColumns, rules: RecordRules, pages: Pages, place: String) {
  private val largest = rules.maxBytes.getOrElse(Long.MaxValue)
  private val limited = largest < Long.MaxValue
  private var current = InternalRow.empty
  private var misfits = 0L
  private var read = 0L
  private var fields = ""
  private var reported = columns.byPosition

  /** Moves to the next row, if there is one.
    *
    * @throws EpochalException
    *   RECORD_INVALID, COLUMNS_MISSING after the last record, or any error of the pages
    */
  def next(): Boolean = {
    var found = false
    while (!found && pages.next()) found = take()
    if (!found) report(rules.requireColumns)
    found
  }

  /** Ends before the last record. */
  def close(): Unit = report(fails = false)

  /** Reports columns that are in no record. */
  private def report(fails: Boolean): Unit = if (!reported && read > 0) {
    val missing = columns.json.missing
    reported = true
    if (missing.nonEmpty) {
      val error = Conditions.ColumnsMissing(
        "columns" -> missing.mkString(", "),
        "records" -> Plural.of(read, "record"),
        "url" -> place,
        "fields" -> fields)
      if (fails) throw error
      if (columns.isFirstWarning)
        LoggerFactory
          .getLogger(getClass)
          .warn(s"${error.problem} They are NULL; requireColumns=true (in Python require_columns=True) fails instead.")
    }
  }

  def row: InternalRow = current

  /** The number of records that did not fit. */
  def malformed: Long = misfits

  /** Whether the record becomes a row. */
  private def take(): Boolean =
    if (columns.none) {
      pages.records.pass()
      true
    } else {
      val before = misfits
      current = made()
      if (current != null) {
        columns.setOrigin(current, pages.origin)
        if (misfits == before)
          columns.misfit.foreach(found => current = unfit(current, pages.records.bytes, found.reason))
      }
      current != null
    }

  /** The record as a row; null if the record is dropped. */
  @scala.annotation.tailrec
  private def made(): InternalRow = {
    var failure: Throwable = null
    val found =
      try pages.records.row(columns)
      catch {
        case e: EpochalException => throw e
        case NonFatal(e) =>
          failure = e
          null
      }
    if (failure == null) {
      read += 1
      if (read == 1 && !reported) fields = columns.json.namesOf(pages.records.bytes)
      checked(found)
    } else if (pages.replaced()) made()
    else examined(failure)
  }

  private def checked(row: InternalRow): InternalRow =
    if (isTooLarge) tooLarge()
    else {
      val lacking = columns.lacking(row)
      if (lacking < 0) row
      else
        unfit(
          row,
          pages.records.bytes,
          s"the column '${columns.name(lacking)}' is NOT NULL, and the record has no value for it")
    }

  private def examined(error: Throwable): InternalRow = {
    val found = pages.records.examine(columns)
    if (isTooLarge) tooLarge()
    else {
      val reason = found.reason.getOrElse(s"it cannot be read (${error.getClass.getSimpleName})")
      unfit(found.row, pages.records.bytes, reason)
    }
  }

  private def isTooLarge: Boolean = limited && pages.records.size > largest

  /** Only the beginning of the record is kept. */
  private def tooLarge(): InternalRow = unfit(
    columns.empty,
    Arrays.copyOf(pages.records.bytes, largest.toInt),
    s"it has ${pages.records.size} bytes, and {option:maxRecordBytes} is $largest")

  /** Applies the mode to a record that does not fit; null: no row.
    *
    * @param row
    *   the columns that fit, NULL in the others
    * @param reason
    *   by names and types, without a value
    */
  private def unfit(row: InternalRow, record: => Array[Byte], reason: String): InternalRow = {
    if (rules.mode != RecordMode.FailFast && misfits == 0)
      LoggerFactory
        .getLogger(getClass)
        .warn(s"${invalid(reason).problem} Further such records of this task are only counted.")
    misfits += 1
    rules.mode match {
      case RecordMode.FailFast      => throw invalid(reason)
      case RecordMode.DropMalformed => null
      case RecordMode.Permissive(_) =>
        columns.setCorrupt(row, record)
        row
    }
  }

  private def invalid(reason: String): EpochalException =
    Conditions.RecordInvalid("index" -> pages.index, "url" -> place, "reason" -> reason)
}

/** The columns that a query needs.
  *
  * @param schema
  *   the selected columns
  * @param timeZone
  *   the session's, for texts without a zone
  * @param scan
  *   differs from query to query
  */
final private[epochal] case class RecordReading(
    schema: StructType,
    timeZone: String,
    scan: String = UUID.randomUUID().toString)

/** The origin of a page's records. */
private[epochal] trait RecordOrigin {

  /** The value of a column, in Spark's internal form, or a [[RecordOrigin.Misfit]]; null if it is unknown. */
  def value(column: String): Any
}

private[epochal] object RecordOrigin {

  /** In place of a value that does not fit its column: then no record of this origin fits.
    *
    * @param reason
    *   by names and types, without the value
    */
  final case class Misfit(reason: String)
}

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
  private val unknown = rules.unknown.filter(schema.fieldNames.contains(_))
  private val corrupt = rules.corrupt.fold(-1)(schema.fieldNames.indexOf(_))
  private val required = schema.fields.indices.filterNot(schema(_).nullable).toArray
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

  lazy val json: JsonRowParser = new JsonRowParser(schema, reading.timeZone, apart, unknown)

  lazy val csv: CsvRowParser = new CsvRowParser(schema, reading.timeZone, apart, unknown)

  /** The first NOT NULL column without a value; -1 if there is none. */
  def lacking(row: InternalRow): Int = {
    var i = 0
    while (i < required.length && !row.isNullAt(required(i))) i += 1
    if (i < required.length) required(i) else -1
  }

  /** A row of NULLs. */
  def empty: InternalRow = ArrayRow(new Array[Any](schema.length))

  def name(column: Int): String = schema(column).name

  /** Bytes that are not UTF-8 become U+FFFD. */
  def setCorrupt(row: InternalRow, record: => Array[Byte]): Unit =
    if (corrupt >= 0) row.update(corrupt, UTF8String.fromBytes(record).makeValid())

  /** Fills in the columns of the record's origin. */
  def setOrigin(row: InternalRow, from: Option[RecordOrigin]): Unit = if (ofOrigin.length > 0) {
    val known = from.orNull
    if (known ne origin) {
      origin = known
      originValues = valuesOf(known)
      misfit = misfitOf(originValues)
    }
    var i = 0
    while (i < ofOrigin.length) {
      row.update(ofOrigin(i), if (originValues(i).isInstanceOf[RecordOrigin.Misfit]) null else originValues(i))
      i += 1
    }
  }

  private def misfitOf(values: Array[Any]): Option[RecordOrigin.Misfit] =
    values.collectFirst { case found: RecordOrigin.Misfit => found }

  private def valuesOf(origin: RecordOrigin): Array[Any] = ofOrigin.map { column =>
    val field = name(column)
    ofTask.getOrElse(field, if (origin == null) null else origin.value(field))
  }
}

private object RecordColumns {

  /** The latest queries with a warning. */
  private val warned = Collections.newSetFromMap(new LinkedHashMap[String, java.lang.Boolean] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[String, java.lang.Boolean]): Boolean = size > Remembered
  })
  private val Remembered = 1000

  def isFirst(scan: String): Boolean = synchronized(warned.add(scan))
}

/** The records that one task reads, page after page. Used by the task's own thread only. */
private[epochal] trait Pages extends AutoCloseable {

  /** The records of the page. */
  def records: Records

  /** The page's origin; None: it is unknown, or no column holds it. */
  def origin: Option[RecordOrigin]

  /** The number of the current record. */
  def index: Long

  /** The number of pages read. */
  def count: Long

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Whether the page was invalid and has been replaced: the new one is at the same record. */
  def replaced(): Boolean = false
}

/** Pages that a [[PageScan]] has read before, and so verified. */
abstract private[epochal] class ScannedPages extends Pages {
  private var current: Records = NoRecords
  private var first = 0L
  private var wanted = 0
  private var passed = 0
  private var opened = 0L

  /** Opens the next page; false after the last. */
  protected def nextPage(): Boolean

  /** Positions before `take` records of a page, after its first `skip`; `index` is the number of the first of them. */
  final protected def open(page: Records, index: Long, skip: Int, take: Int): Unit = {
    current = page
    first = index
    wanted = take
    passed = 0
    opened += 1
    val _ = page.skip(skip.toLong)
  }

  final override def records: Records = current

  final override def index: Long = first + passed - 1

  final override def count: Long = opened

  @scala.annotation.tailrec
  final override def next(): Boolean =
    if (passed < wanted) {
      if (!current.next()) throw new IllegalStateException(s"a page of $wanted records has $passed")
      passed += 1
      true
    } else if (nextPage()) next()
    else false
}
