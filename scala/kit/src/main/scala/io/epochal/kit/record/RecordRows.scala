package io.epochal.kit.record

import java.util.Arrays

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException, Plural}

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
  private var reportedColumns = columns.byPosition

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
  private def report(fails: Boolean): Unit = if (!reportedColumns && read > 0) {
    val missing = columns.json.missing
    reportedColumns = true
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
      current = parse()
      if (current != null) {
        columns.setOrigin(current, pages.origin)
        if (misfits == before)
          columns.misfit.foreach(misfit => current = unfit(current, pages.records.bytes, misfit.reason))
      }
      current != null
    }

  /** The record as a row; null if the record is dropped. */
  @scala.annotation.tailrec
  private def parse(): InternalRow = {
    var failure: Throwable = null
    val tolerant =
      try pages.records.row(columns)
      catch {
        case e: EpochalException => throw e
        case NonFatal(e) =>
          failure = e
          null
      }
    if (failure == null) {
      read += 1
      if (read == 1 && !reportedColumns) fields = columns.json.namesOf(pages.records.bytes)
      checkNulls(tolerant)
    } else if (pages.replaced()) parse()
    else examine(failure)
  }

  private def checkNulls(row: InternalRow): InternalRow =
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

  private def examine(error: Throwable): InternalRow = {
    val examination = pages.records.examine(columns)
    if (isTooLarge) tooLarge()
    else {
      val reason = examination.reason.getOrElse(s"it cannot be read (${error.getClass.getSimpleName})")
      unfit(examination.row, pages.records.bytes, reason)
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
  final protected def open(page: Records, index: Long, skip: Int, count: Int): Unit = {
    current = page
    first = index
    wanted = count
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
