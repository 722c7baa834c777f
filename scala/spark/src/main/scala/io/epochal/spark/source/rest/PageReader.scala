package io.epochal.spark.source.rest

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException, JsonToken}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.spark.http.{BodyBuffer, HttpClient, HttpCounters, HttpFailure, Json}

/** The records of a range, page after page. They are parsed in the task's own thread.
  *
  * A page may hold fewer records than it was asked for: the next request begins where it ended. An answer without any
  * record that is new is the end of the API, and so a loss within a planned range.
  *
  * @param depth
  *   requests under way at the same time
  * @param counters
  *   are told of each page
  */
final private[rest] class PageReader(
    options: RestOptions,
    range: RecordRange,
    client: HttpClient,
    depth: Int,
    counters: HttpCounters)
    extends AutoCloseable {
  import PageReader._

  private val answers = new PagesAhead(options, range, client, depth)
  private var buffer: BodyBuffer = _
  private var at = range.from
  private var page: Page = _
  private var ended = false

  /** Of the record that `next` stopped at. */
  def index: Long = at - 1

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

  def skip(): Unit = {
    val _ = page.cursor.parser.skipChildren()
  }

  /** Converts the record.
    *
    * @param reason
    *   why the record that begins at a byte of the answer cannot be converted
    */
  def read[A](convert: JsonParser => A)(reason: (BodyBuffer, Int) => Option[String]): A = {
    val parser = page.cursor.parser
    if (parser.currentToken != JsonToken.START_OBJECT)
      throw invalid(s"it is ${Json.describe(parser.currentToken)}, and not an object")
    try convert(parser)
    catch {
      case NonFatal(e) =>
        if (page.proven || isJson) throw invalid(why(reason).getOrElse(HttpFailure.shown(e.toString)))
        reload(index)
        val _ = page.cursor.next()
        read(convert)(reason)
    }
  }

  override def close(): Unit = answers.close()

  private def step(): Boolean =
    try page.cursor.next()
    catch {
      case _: JsonProcessingException if !page.proven =>
        reload(at)
        page.cursor.next()
    }

  private def turn(): Unit =
    if (page != null && at == page.request.end && step()) throw options.mismatch(EndFinder.tooMany(page.request))
    else if (page != null && at == page.from) lost()
    else {
      page = new Page(options.pagination.request(at, range.until), at)
      buffer = answers.answer(page.request)
      counters.page()
      try open(at)
      catch { case _: JsonProcessingException => reload(at) }
    }

  /** Positions the page before a record. */
  private def open(record: Long): Unit = {
    page.cursor = new RecordCursor(buffer, options.records, options.endpoint)
    val _ = page.cursor.skip(record - page.request.first)
  }

  /** Asks for the page again, this time until the answer is JSON from end to end, and stands before the record. */
  private def reload(record: Long): Unit = {
    val _ = client.call(options.call(page.request), buffer)(_ => count(buffer))
    page.proven = true
    open(record)
  }

  private def isJson: Boolean =
    try count(buffer) >= 0
    catch { case _: JsonProcessingException => false }

  private def count(buffer: BodyBuffer): Long = RecordCursor.count(buffer, options.records, options.endpoint)

  private def why(reason: (BodyBuffer, Int) => Option[String]): Option[String] = {
    open(index)
    val _ = page.cursor.next()
    reason(buffer, page.cursor.parser.currentTokenLocation().getByteOffset.toInt).map(HttpFailure.shown)
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

  private def invalid(reason: String): EpochalException =
    Conditions.RecordInvalid("index" -> index, "url" -> options.endpoint, "reason" -> reason)
}

private[rest] object PageReader {
  private val log = LoggerFactory.getLogger(classOf[PageReader])

  /** @param from
    *   the first record that is read from it
    */
  final private class Page(val request: PageRequest, val from: Long) {
    var cursor: RecordCursor = _

    /** Whether the answer is known to be JSON from end to end. */
    var proven: Boolean = false
  }
}
