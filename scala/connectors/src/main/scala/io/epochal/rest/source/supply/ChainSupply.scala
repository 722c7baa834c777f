package io.epochal.rest.source.supply

import java.time.{Clock, Instant}

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.page.{Chain, PageChain}
import io.epochal.rest.source.paging.{
  ChainedPagination,
  NextPage,
  PollBudget,
  RestOptions,
  SeenWindow,
  TimeWindow,
  Window,
  WindowPosition
}
import io.epochal.rest.source.window.{WindowChain, WindowKeys}

/** Follows the pages of a [[ChainedPagination]] on the driver, one after the other, into the journal. */
final private[rest] class ChainSupply(
    options: RestOptions,
    pagination: ChainedPagination,
    journal: RestJournal,
    counters: HttpCounters,
    clock: Clock,
    ahead: ReadAhead
) extends JournalledSupply(journal, ahead) {

  private val client = new HttpClient(options.http, counters)
  private var chain = Option.empty[Chain]
  @volatile private var seen = Option.empty[Extent]
  private var warned = false
  private var broken = false
  private var breaks = 0
  private var once = false
  private lazy val begun = clock.instant()

  override def known: Option[Extent] = seen
  override def brokeOff: Boolean = broken
  override def gaps: Int = breaks

  /** Windows of time end where the first poll begins, however long the crawl takes. */
  override def lookOnce(): Unit = once = true

  override protected def reset(): Unit = chain = None

  override def close(): Unit = {
    super.close()
    client.close()
  }

  override protected def receive(tail: JournalTail, most: Long, budget: PollBudget): Boolean = {
    val pages = chain.getOrElse(chainAfter(tail))
    chain = Some(pages)
    var empty = 0
    broken = false
    var spent = false
    var more = pages.look(again = once && seen.nonEmpty)
    while (more) {
      val records =
        try
          pages.turn { block =>
            tail.add(block)
            budget.spend((block.until - block.from).toLong)
          }
        finally pages.answer.close()
      tail.goOn(pages.next)
      empty = if (records == 0) empty + 1 else 0
      broken = !pages.bounded && empty >= ChainSupply.EmptyPages
      // Pages without records in between do not end a poll that has none: their stretch is counted.
      spent = budget.spent && (pages.bounded || tail.until > tail.start.records)
      more = !pages.atEnd && tail.until - tail.start.records < most && !broken && !spent
    }
    if (broken) breaks += 1
    seen = Some(Extent(tail.until, if (pages.atEnd) tail.until else Long.MaxValue))
    spent && !pages.atEnd
  }

  private def chainAfter(tail: JournalTail): Chain = {
    val page = tail.next.getOrElse(NextPage.First)
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

  /** The keys that later windows may give again, from the records that the journal has of the windows before. */
  private def keysBefore(windows: TimeWindow, page: NextPage, tail: JournalTail): WindowKeys = {
    val keys = new WindowKeys(windows.keys, options.mismatch(_, _))
    val position = page.token.flatMap(WindowPosition.parse)
    val seen = position.fold(Seq.empty[SeenWindow])(_.seen)
    if (!windows.keyed && seen.nonEmpty && position.exists(_.page.nonEmpty))
      throw Conditions.OptionsConflict(
        "format" -> RestOptions.Format,
        "options" -> "overlap=0s, an offset within a window that overlaps the one before",
        "suggestion" -> "Keep overlap and keyColumns until that window has been read to its end, and only then leave them out.")
    if (windows.keyed) {
      seen.zip(seen.drop(1).map(_.record) :+ tail.until).foreach { case (window, until) =>
        keys.enter(Window(Instant.MIN, window.until), window.record)
        journal.read(tail.received, window.record, until)(keys.remember)
      }
    }
    keys
  }

  private def lost(from: Long, until: Long): Unit = {
    val told = options.lost(from, until, "the last page has fewer records than before")
    if (!warned) ChainSupply.log.warn(s"Going on when that page has more records again. $told")
    warned = true
  }
}

private object ChainSupply {
  private val log = LoggerFactory.getLogger(classOf[ChainSupply])

  /** Empty pages in a row after which a look ends, at a page that the next look goes on from: some APIs answer a poll with nothing
    * and a new token, for ever.
    */
  private val EmptyPages = 100
}
