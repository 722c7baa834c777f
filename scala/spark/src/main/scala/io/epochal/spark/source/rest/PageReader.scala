package io.epochal.spark.source.rest

import java.util.Arrays

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.catalyst.InternalRow
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}

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

/** The records of a range, page after page, in the task's own thread.
  *
  * A page may hold fewer records than it was asked for: the next request begins where it ended. An answer without any
  * record that is new is the end of the API, and so a loss within a planned range.
  */
final private[rest] class PageReader(
    options: RestOptions,
    columns: RowColumns,
    range: RecordRange,
    source: PageSource
) {
  import PageReader._

  private val format = options.rules.format
  private val rows = format.rows(columns)
  private val largest = options.rules.maxBytes.getOrElse(Long.MaxValue)
  private val limited = largest < Long.MaxValue
  private val marked = limited || options.rules.mode != RecordMode.FailFast
  private var records: Records[format.Rows] = _
  private var page: Page = _
  private var at = range.from
  private var ended = false
  private var opened = 0L
  private var unfit: Misfit = _

  /** What the record came in. */
  val answer: Answer = new Answer

  /** Of the record that `next` stopped at. */
  def index: Long = at - 1

  /** How many pages were read. */
  def pages: Long = opened

  /** Why `row` gave none. */
  def misfit: Misfit = unfit

  /** Moves to the next record of the range, if there is one. */
  @scala.annotation.tailrec
  def next(): Boolean =
    if (ended || at >= range.until) false
    else if (page != null && at < page.request.end && step()) {
      at += 1
      true
    } else {
      turn()
      next()
    }

  def pass(): Unit = records.pass()

  /** The record as a row; null where it does not fit, and `misfit` tells more. */
  def row(): InternalRow =
    try {
      val row = records.row(rows)
      if (limited && records.size > largest) {
        tooLarge()
        null
      } else row
    } catch {
      case e: EpochalException => throw e
      case NonFatal(e) =>
        if (page.proven || isWhole) {
          examine(e)
          null
        } else {
          reload(index)
          val _ = records.next()
          row()
        }
    }

  private def examine(error: Throwable): Unit = {
    if (!marked) {
      open(index, marked = true)
      val _ = records.next()
    }
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

  private def step(): Boolean =
    try records.next()
    catch {
      case _: JsonProcessingException if !page.proven =>
        reload(at)
        records.next()
    }

  private def turn(): Unit =
    if (page != null && at == page.request.end && step()) throw options.mismatch(EndFinder.tooMany(page.request))
    else if (page != null && at == page.from) lost()
    else {
      page = new Page(options.pagination.request(at, range.until), at)
      source.fetch(page.request, answer)(())
      opened += 1
      try open(at, marked)
      catch { case _: JsonProcessingException => reload(at) }
    }

  /** Positions the page before a record. */
  private def open(record: Long, marked: Boolean): Unit = {
    records = format.open(answer.body, options.endpoint, marked)
    val _ = records.skip(record - page.request.first)
  }

  /** Asks for the page again, this time until the answer is what it should be from end to end, and stands before the record. */
  private def reload(record: Long): Unit = {
    source.fetch(page.request, answer)(count())
    page.proven = true
    open(record, marked)
  }

  private def isWhole: Boolean =
    try {
      count()
      page.proven = true
      true
    } catch { case _: JsonProcessingException => false }

  private def count(): Unit = {
    val _ = format.count(answer.body, options.endpoint)
  }

  private def lost(): Unit = {
    val loss = Conditions.DataLoss(
      "source" -> options.source,
      "from" -> at,
      "until" -> range.until,
      "reason" -> s"the API now ends before record $at")
    if (options.failOnDataLoss) throw loss
    log.warn(loss.getMessage)
    ended = true
  }
}

private[rest] object PageReader {
  private val log = LoggerFactory.getLogger(classOf[PageReader])

  /** @param from
    *   the first record that is read from it
    */
  final private class Page(val request: PageRequest, val from: Long) {

    /** Whether the answer is known to be what it should be from end to end. */
    var proven: Boolean = false
  }
}
