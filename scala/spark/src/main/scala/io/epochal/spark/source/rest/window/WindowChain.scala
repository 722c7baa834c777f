package io.epochal.spark.source.rest.window

import java.time.Instant
import java.util.zip.CRC32C

import scala.util.Try

import io.epochal.spark.http.{BodyBuffer, HttpClient}
import io.epochal.spark.source.rest.page.{AnswerScan, Chain, NewRecords, PageChain}
import io.epochal.spark.source.rest.{NextPage, RestOptions}

/** Follows the pages of windows, one window after the other. No window is asked for before its end is `lag` in the past. One
  * thread at a time.
  *
  * @param token
  *   where to go on
  * @param record
  *   the number in the stream of the next record
  * @param keys
  *   those of the windows before
  * @param now
  *   the time
  */
final private[rest] class WindowChain(
    options: RestOptions,
    windows: TimeWindow,
    client: HttpClient,
    token: Option[String],
    record: Long,
    keys: WindowKeys,
    now: () => Instant
) extends Chain {

  private val pages = new PageChain(options, windows, client, NextPage(token, 0), (_, _) => ())
  private var at = record
  private var latest = Instant.MIN
  private var before = 0L

  override def buffer: BodyBuffer = pages.buffer

  /** Time ends what can be asked for. */
  override val bounded: Boolean = true

  override def look(): Boolean = {
    latest = windows.until.getOrElse(now().minus(windows.lag))
    !atEnd
  }

  /** Whether the window that follows is not to be asked for yet. */
  override def atEnd: Boolean = {
    val ahead = windows.asked(pages.next.token)
    ahead.page.isEmpty && (ahead.window.to.isAfter(latest) || !ahead.window.from.isBefore(ahead.window.to))
  }

  override def next: NextPage =
    NextPage(pages.next.token.flatMap(WindowPosition.parse).map(_.copy(seen = keys.seen).text), 0)

  override def turn(): NewRecords = {
    val asked = windows.asked(pages.next.token)
    if (asked.page.isEmpty) pages.recount()
    if (windows.keyed) keys.enter(asked.window, at)
    val page = pages.turn()
    if (windows.within.isInstanceOf[CountedPages] && page.records > 0) movesOn(asked, page)
    val fresh = if (windows.keyed) keys.fresh(buffer.bytes, page) else page
    at += fresh.records
    fresh
  }

  /** An API that does not know the parameter of the page gives a window's first page for ever. That two pages are alike is not
    * enough, where one far behind a window's end is like them, too.
    */
  private def movesOn(asked: WindowPosition, page: NewRecords): Unit = {
    val records = hash(buffer, page.from, page.until)
    if (asked.page.nonEmpty && records == before && far(asked).contains(records))
      throw options.mismatch("the pages of a window are the same: it gives the same page whatever it is asked for")
    before = records
  }

  private def far(asked: WindowPosition): Option[Long] = {
    val body = new BodyBuffer
    val scan = new AnswerScan(options.records, Nil, options.endpoint)
    val call =
      options.pageCall.of(options.endpoint, windows, Some(asked.copy(page = Some(WindowChain.Far), seen = Nil).text))
    Try(client.call(call, body)(_ => scan.read(body))).toOption
      .filter(_.records > 0)
      .map(answer => hash(body, answer.from, answer.until))
  }

  private def hash(body: BodyBuffer, from: Int, until: Int): Long = {
    val crc = new CRC32C
    crc.update(body.bytes, from, until - from)
    crc.getValue << 32 | (until - from)
  }
}

private object WindowChain {

  /** Behind the end of any window; fits where a server reads 32 bits. */
  private val Far = s"${1L << 30}"
}
