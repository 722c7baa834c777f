package io.epochal.rest.source.page

import java.time.Instant

import scala.util.{Try, Using}

import io.epochal.kit.record.{Body, RecordBlock}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.paging.{CountedPages, NextPage, RestOptions, TimeWindow, WindowPosition}

/** Follows the pages of windows, one window after the other. No window is requested before its end is `lag` in the past. One
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
  private val counted = windows.within.isInstanceOf[CountedPages]
  private var before = 0L

  override def page: Page = pages.page

  /** Time limits the windows of a poll. */
  override val bounded: Boolean = true

  override def beginPoll(again: Boolean): Boolean = {
    latest = windows.until.getOrElse(now().minus(windows.lag))
    !atEnd
  }

  /** Whether the next window may not be requested yet. */
  override def atEnd: Boolean = {
    val ahead = windows.asked(pages.next.token)
    ahead.page.isEmpty && (ahead.window.to.isAfter(latest) || !ahead.window.from.isBefore(ahead.window.to))
  }

  override def next: NextPage =
    NextPage(pages.next.token.flatMap(WindowPosition.parse).map(_.copy(seen = keys.seen).text), 0)

  override def nextPage(each: RecordBlock => Unit): Int = {
    val asked = windows.asked(pages.next.token)
    if (asked.page.isEmpty) pages.recount()
    if (windows.keyed) keys.enter(asked.window, at)
    val digest = new PageDigest
    var fresh = 0
    val records = pages.nextPage { block =>
      if (counted) digest.add(block)
      (if (windows.keyed) keys.fresh(block) else Some(block)).foreach { left =>
        fresh += left.records
        each(left)
      }
    }
    if (counted && records > 0) movesOn(asked, digest.value)
    at += fresh
    fresh
  }

  /** An API that does not know the parameter of the page gives a window's first page for ever. That two pages are alike is not
    * enough, where one far behind a window's end is like them, too.
    */
  private def movesOn(asked: WindowPosition, content: Long): Unit = {
    if (asked.page.nonEmpty && content == before && far(asked).contains(content))
      throw options.mismatch(s"for several pages of ${asked.window.wanted}", "the same page whatever it is asked for")
    before = content
  }

  private def far(asked: WindowPosition): Option[Long] = {
    val scan = options.scan()
    val call =
      options.pageCall.of(options.endpoint, windows, Some(asked.copy(page = Some(WindowChain.Far), seen = Nil).text))
    Using.resource(Body.ofPage()) { body =>
      Try(client.call(call, body)(_ => scan.read(body))).toOption
        .filter(_.records > 0)
        .map(scanned => PageDigest.of(scan.blocks(scanned, body)))
    }
  }
}

private object WindowChain {

  /** Behind the end of any window; fits where a server reads 32 bits. */
  private val Far = s"${1L << 30}"
}
