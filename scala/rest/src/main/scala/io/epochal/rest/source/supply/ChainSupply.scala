package io.epochal.rest.source.supply

import java.time.Instant

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.kit.source.{Extent, PollBudget}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.page.{Chain, PageChain, WindowChain, WindowKeys}
import io.epochal.rest.source.paging._

/** Follows the pages of a [[ChainedPagination]] on the driver, one after the other, into the journal.
  *
  * @param maxGaps
  *   stretches of pages without records that a run under AvailableNow passes: an API may name another page for ever
  */
final private[rest] class ChainSupply(list: RestList, pagination: ChainedPagination, maxGaps: Int)
    extends RestReceiver(list) {
  import list.{clock, journal, options}

  private val client = new HttpClient(options.http, list.counters)
  private var chain = Option.empty[Chain]
  @volatile private var seen = Option.empty[Extent]
  private var warned = false
  private var broken = false
  private var breaks = 0
  private var once = false
  private lazy val begun = clock.instant()

  override def known: Option[Extent] = seen

  /** The pages that broke off a poll are not passed again, neither by this run nor by the next. */
  override def paused: Boolean = super.paused || once && broken && breaks <= maxGaps

  /** Windows of time end where the first poll begins, however long the crawl takes. */
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
      // Pages without records in between do not end a poll that has none: their stretch is counted.
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

  /** The keys that later windows may give again, from the records that the journal has of the windows before. */
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
    if (!warned) ChainSupply.log.warn(s"Going on when that page has more records again. $loss")
    warned = true
  }
}

private[supply] object ChainSupply {
  private val log = LoggerFactory.getLogger(classOf[ChainSupply])

  /** Empty pages in a row after which a poll ends, at a page that the next poll goes on from: some APIs respond to a poll with nothing
    * and a new token, for ever.
    */
  private val EmptyPages = 100

  val MaxGaps = 10
}
