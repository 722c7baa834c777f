package io.epochal.kit.record

import java.util.Arrays

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}

/** The rows of one task: each record of its pages, and what the mode makes of one that does not fit. One thread at a time.
  *
  * @param place
  *   where the records come from, for an error
  */
final private[epochal] class RecordRows(columns: RecordColumns, rules: RecordRules, pages: Pages, place: String) {
  private val largest = rules.maxBytes.getOrElse(Long.MaxValue)
  private val limited = largest < Long.MaxValue
  private var current = InternalRow.empty
  private var misfits = 0L

  /** Moves to the next row, if there is one.
    *
    * @throws EpochalException
    *   RECORD_INVALID, or what the pages throw
    */
  def next(): Boolean = {
    var found = false
    while (!found && pages.next()) found = take()
    found
  }

  def row: InternalRow = current

  /** Records that did not fit. */
  def malformed: Long = misfits

  /** Whether the record gives a row. */
  private def take(): Boolean =
    if (columns.none) {
      pages.records.pass()
      true
    } else {
      current = made()
      if (current != null) columns.setOrigin(current, pages.origin)
      current != null
    }

  /** The record as a row; null: it gives none. */
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
    if (failure == null) checked(found)
    else if (pages.replaced()) made()
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

  /** Only the beginning of it is kept. */
  private def tooLarge(): InternalRow = unfit(
    columns.empty,
    Arrays.copyOf(pages.records.bytes, largest.toInt),
    s"it has ${pages.records.size} bytes, and maxRecordBytes is $largest")

  /** What the mode makes of a record; null: nothing.
    *
    * @param row
    *   what of it fits, NULL in the other columns
    * @param reason
    *   by names and types, without a value
    */
  private def unfit(row: InternalRow, record: => Array[Byte], reason: String): InternalRow = {
    if (rules.mode != RecordMode.FailFast && misfits == 0)
      RecordRows.log.warn(s"${invalid(reason).problem} Further such records of this task are only counted.")
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

private object RecordRows {
  private val log = LoggerFactory.getLogger(classOf[RecordRows])
}
