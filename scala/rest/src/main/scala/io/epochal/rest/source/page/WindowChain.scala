package io.epochal.rest.source.page

import java.time.Instant

import scala.util.{Try, Using}

import io.epochal.kit.record.{Body, RecordBlock}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.paging.{CountedPages, NextPage, RestOptions, TimeWindow, WindowPosition}

/** Follows the pages of windows, one window after the other. No window is requested until its end is `lag` in the past.
  * Not thread-safe.
  *
  * @param token
  *   where to resume
  * @param record
  *   the number in the stream of the next record
  * @param keys
  *   those of the previous windows
  * @param now
  *   the clock
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
  private val counted = windows.within.isInstanceOf[CountedPages]
  private var before = 0L

  override def page: Page = pages.page

  /** Always true: time limits the windows of a poll. */
  override val bounded: Boolean = true

  override def beginPoll(again: Boolean): Boolean = {
    latest = windows.until.getOrElse(now().minus(windows.lag))
    !atEnd
  }

  /** Whether the next window must not be requested yet. */
  override def atEnd: Boolean = {
    val ahead = windows.positionAt(pages.next.token)
    ahead.page.isEmpty && (ahead.window.to.isAfter(latest) || !ahead.window.from.isBefore(ahead.window.to))
  }

  override def next: NextPage =
    NextPage(pages.next.token.flatMap(WindowPosition.parse).map(_.copy(seen = keys.seen).text), 0)

  override def nextPage(each: RecordBlock => Unit): Int = {
    val position = windows.positionAt(pages.next.token)
    if (position.page.isEmpty) pages.recount()
    if (windows.keyed) keys.enter(position.window, at)
    val digest = new PageDigest
    var fresh = 0
    val records = pages.nextPage { block =>
      if (counted) digest.add(block)
      (if (windows.keyed) keys.fresh(block) else Some(block)).foreach { left =>
        fresh += left.records
        each(left)
      }
    }
    if (counted && records > 0) movesOn(position, digest.value)
    at += fresh
    fresh
  }

  /** Detects an API that ignores the page parameter and returns a window's first page forever. Two equal pages are no
    * proof, so a page far past the window's end must equal them, too.
    */
  private def movesOn(position: WindowPosition, content: Long): Unit = {
    if (position.page.nonEmpty && content == before && far(position).contains(content))
      throw options.mismatch(s"for several pages of ${position.window.description}", "the same page for every request")
    before = content
  }

  private def far(position: WindowPosition): Option[Long] = {
    val scan = options.scan()
    val call =
      options.pageCall.of(options.endpoint, windows, Some(position.copy(page = Some(WindowChain.Far), seen = Nil).text))
    Using.resource(Body.ofPage()) { body =>
      Try(client.call(call, body)(_ => scan.read(body))).toOption
        .filter(_.records > 0)
        .map(scanned => PageDigest.of(scan.blocks(scanned, body)))
    }
  }
}

private object WindowChain {

  /** Past the end of any window, and within 32 bits, for servers with such numbers. */
  private val Far = s"${1L << 30}"
}
