package io.epochal.rest.source.task

import java.util.Arrays

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.page.Answer
import io.epochal.rest.source.paging.RestOptions
import io.epochal.rest.source.record.{BodyFormat, Records, RowColumns}

/** A record that gives no row as it stands.
  *
  * @param row
  *   what fits, NULL in the other columns
  * @param record
  *   its bytes
  * @param reason
  *   by names and types, without a value
  */
final private[rest] case class Misfit(row: InternalRow, record: Array[Byte], reason: String)

/** The records of one task, page after page, in the task's own thread.
  *
  * @param format
  *   of the pages
  */
abstract private[rest] class Pages(options: RestOptions, columns: RowColumns, protected val format: BodyFormat)
    extends AutoCloseable {

  private val rows = format.rows(columns)
  private val largest = options.rules.maxBytes.getOrElse(Long.MaxValue)
  private val limited = largest < Long.MaxValue
  private var unfit: Misfit = _

  /** Those of the page, from where it was opened. */
  protected var records: Records[format.Rows] = _

  /** What the record came in. */
  def answer: Answer

  /** Of the record that `next` stopped at. */
  def index: Long

  /** How many pages were read. */
  def pages: Long

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Whether the page was not what it should be, and has been replaced: it stands at the same record then. */
  protected def replaced(): Boolean

  /** Why `row` gave none. */
  final def misfit: Misfit = unfit

  final def pass(): Unit = records.pass()

  /** The record as a row; null where it does not fit, and `misfit` tells more. */
  @scala.annotation.tailrec
  final def row(): InternalRow = {
    var failure: Throwable = null
    val found =
      try records.row(rows)
      catch {
        case e: EpochalException => throw e
        case NonFatal(e) =>
          failure = e
          null
      }
    if (failure == null) {
      if (limited && records.size > largest) {
        tooLarge()
        null
      } else found
    } else if (replaced()) row()
    else {
      examine(failure)
      null
    }
  }

  /** Stands behind so many records of a page. */
  protected def open(page: Records[format.Rows], skip: Long): Unit = {
    records = page
    val _ = page.skip(skip)
  }

  private def examine(error: Throwable): Unit = {
    val examined = records.examine(rows)
    if (limited && records.size > largest) tooLarge()
    else {
      val reason = examined.reason.getOrElse(s"it cannot be read (${error.getClass.getSimpleName})")
      unfit = Misfit(examined.row, records.bytes, reason)
    }
  }

  /** Keeps the beginning of it only. */
  private def tooLarge(): Unit = {
    val reason = s"it has ${records.size} bytes, and maxRecordBytes is $largest"
    unfit = Misfit(columns.empty, Arrays.copyOf(records.bytes, largest.toInt), reason)
  }
}
