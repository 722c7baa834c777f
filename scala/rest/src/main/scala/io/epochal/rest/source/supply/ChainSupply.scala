package io.epochal.rest.source.supply

import java.time.Instant

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.kit.source.{Extent, PollBudget}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.page.{Chain, PageChain, WindowChain, WindowKeys}
import io.epochal.rest.source.paging._

/** Follows the pages of a [[ChainedPagination]] on the driver, one after the other, into the journal. */
final private[rest] class ChainSupply(list: RestList, pagination: ChainedPagination) extends RestReceiver(list) {
  import list.{clock, journal, options}

  private val client = new HttpClient(options.http, list.counters)

  /** Sequences of empty pages that a run under AvailableNow skips: an API may name another page forever. */
  private val maxGaps = if (options.params.isEmpty) 10 else 0
  private var chain = Option.empty[Chain]
  @volatile private var seen = Option.empty[Extent]
  private var warned = false
  private var broken = false
  private var breaks = 0
  private var once = false
  private lazy val begun = clock.instant()

  override def known: Option[Extent] = seen

  /** After a sequence of empty pages has ended a poll, neither this run nor the next requests those pages again. */
  override def paused: Boolean = super.paused || once && broken && breaks <= maxGaps

  /** Fixes the end of time windows at the first poll, regardless of the crawl's duration. */
  override def freezeEnd(): Unit = once = true

  override protected def reset(): Unit = chain = None

  override def close(): Unit = {
    super.close()
    client.close()
  }

  override protected def receivePages(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean = {
    val pages = chain.getOrElse(chainAfter(tail))
    chain = Some(pages)
    var empty = 0
    broken = false
    var spent = false
    var more = pages.beginPoll(again = once && seen.nonEmpty)
    while (more) {
      val records =
        try pages.nextPage(add(tail, budget)(_, pages.page.origin))
        finally pages.page.close()
      tail.goOn(tail.cursor.copy(next = Some(pages.next)))
      empty = if (records == 0) empty + 1 else 0
      broken = !pages.bounded && empty >= ChainSupply.EmptyPages
      // A spent budget does not end a poll without records: `EmptyPages` limits it.
      spent = budget.spent && (pages.bounded || tail.available > 0)
      more = !pages.atEnd && tail.available < most && !broken && !spent
    }
    if (broken) breaks += 1
    val ends = pages.atEnd || once && broken && breaks > maxGaps
    seen = Some(Extent(tail.until, if (ends) tail.until else Long.MaxValue))
    spent && !pages.atEnd
  }

  private def chainAfter(tail: RestJournal.Tail): Chain = {
    val page = tail.cursor.next.getOrElse(NextPage.First)
    pagination match {
      case windows: TimeWindow =>
        new WindowChain(
          options,
          windows,
          client,
          page.token,
          tail.until,
          keysBefore(windows, page, tail),
          () => if (once) begun else clock.instant())
      case _ =>
        new PageChain(options, pagination, client, page, (has, had) => lost(tail.until - had + has, tail.until))
    }
  }

  /** The keys of records that later windows may return again, from the journalled records of earlier windows. */
  private def keysBefore(windows: TimeWindow, page: NextPage, tail: RestJournal.Tail): WindowKeys = {
    val keys = new WindowKeys(windows.keys, options.mismatch(_, _))
    val position = page.token.flatMap(WindowPosition.parse)
    val seen = position.fold(Seq.empty[SeenWindow])(_.seen)
    if (!windows.keyed && seen.nonEmpty && position.exists(_.page.nonEmpty))
      throw Conditions.OptionConflict(
        "format" -> RestOptions.Format,
        "options" -> "{option:overlap=0s}, an offset within a window that overlaps the one before",
        "suggestion" -> "Keep {option:overlap} and {option:keyColumns} until that window has been read to its end, and only then leave them out.")
    if (windows.keyed) {
      seen.zip(seen.drop(1).map(_.record) :+ tail.until).foreach { case (window, until) =>
        keys.enter(Window(Instant.MIN, window.until), window.record)
        RestJournal.read(journal, tail.received, window.record, until)(keys.remember)
      }
    }
    keys
  }

  private def lost(from: Long, until: Long): Unit = {
    val loss = options.lost(from, until, "the last page has fewer records than before")
    if (!warned) ChainSupply.log.warn(s"Resuming when that page has more records again. $loss")
    warned = true
  }
}

private object ChainSupply {
  private val log = LoggerFactory.getLogger(classOf[ChainSupply])

  /** Consecutive empty pages that end a poll; the next poll resumes there. Some APIs respond to a poll with no records
    * and a new token, forever.
    */
  private val EmptyPages = 100
}
