package io.epochal.spark.source.rest.window

import java.time.Instant

import io.epochal.spark.http.{BodyBuffer, HttpClient}
import io.epochal.spark.source.rest.page.{Chain, NewRecords, PageChain}
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
    val fresh = if (windows.keyed) keys.fresh(buffer.bytes, page) else page
    at += fresh.records
    fresh
  }
}
