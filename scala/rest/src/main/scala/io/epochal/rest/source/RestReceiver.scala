package io.epochal.rest.source

import java.time.Instant

import scala.util.Using

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.core.journal.Segment
import io.epochal.kit.record.RecordBlock
import io.epochal.kit.source.journal.{JournalPositions, JournalledSupply}
import io.epochal.kit.source.{Extent, PollBudget}
import io.epochal.rest.http.HttpClient

/** Receives the pages of a list into the journal. */
abstract private[rest] class RestReceiver(list: RestList)
    extends JournalledSupply[RestPosition, RestCursor](list.journal, list.ahead, list.feeding) {
  import list.options

  private val pace = list.pace

  /** The extent after which the next poll pauses, if it is exact. */
  protected def pollExtent: Option[Extent] = known

  /** Receives pages until `most` records are available after the start of `tail`, no more exist, or the budget is spent.
    *
    * @return
    *   whether the budget ended it
    */
  protected def receivePages(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean

  /** A feed has its own pace. */
  final override protected def receive(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean =
    if (isFed) receivePages(tail, most, budget)
    else
      pace(pollExtent, tail.until - tail.available, most) { limit =>
        tail.available < limit && receivePages(tail, limit, budget)
      }

  final protected def add(tail: RestJournal.Tail, budget: PollBudget)(
      block: RecordBlock,
      origin: Option[ResponseOrigin]): Unit = {
    val frame = block.behind(PageFront(options.rules.format.lines, origin).bytes)
    tail.add(frame.records, frame.bytes, frame.from, frame.length)
    budget.spend(block.length.toLong)
  }

  final override protected def isTransient(error: EpochalException): Boolean = RestReceiver.isTransient(error)
}

private[rest] object RestReceiver {
  private val Transient = Set(
    Conditions.HttpUnreachable,
    Conditions.HttpTimeout,
    Conditions.HttpTooSlow,
    Conditions.HttpStatus,
    Conditions.HttpBodyInvalid,
    Conditions.HttpErrorInBody,
    Conditions.OAuthRefused)

  /** Whether it is a failure of the server, after which a repeated request may succeed. */
  def isTransient(error: EpochalException): Boolean = Transient(error.condition)
}

/** Follows the pages of a [[ChainedPagination]] on the driver, one after the other, into the journal. */
final private[rest] class ChainSupply(list: RestList, pagination: ChainedPagination) extends RestReceiver(list) {
  private val log = LoggerFactory.getLogger(classOf[ChainSupply])

  import list.{clock, journal, options}

  private val client = new HttpClient(options.requests.http, list.counters)

  private var reader = Option.empty[ListReader]

  /** The keys of records that later windows may return again. */
  private var keys = Option.empty[WindowKeys]
  private var warned = false

  private var broken = false

  /** Empty pages in a row, over all polls. */
  private var gap = 0

  /** Whether there were more than `maxGap` of them: each poll then requests a single page. */
  private var endless = false
  private var once = false
  private lazy val runStart = clock.instant()

  /** Empty pages count as an end here. AvailableNow does not pause. */
  override protected def pollExtent: Option[Extent] =
    if (broken && !once) known.map(extent => extent.copy(ends = extent.exists)) else known

  /** A run under AvailableNow of one list among several skips no more than one poll does. */
  private def maxGap: Int = if (once && options.requests.params.nonEmpty) 0 else options.requests.end.maxEmptyPages

  /** After a sequence of empty pages has ended a poll, neither this run nor the next requests those pages again. */
  override def paused: Boolean = super.paused || once && broken && !endless

  /** Fixes the end of time windows at the first poll, regardless of the crawl's duration. */
  override def freezeEnd(): Unit = once = true

  override protected def reset(): Unit = {
    reader.foreach(_.close())
    reader = None
  }

  override def close(): Unit = {
    super.close()
    client.close()
  }

  override protected def receivePages(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean = {
    val pages = reader.getOrElse(readerAfter(tail))
    reader = Some(pages)
    val mostEmpty = if (endless) 1 else PagingOptions.EmptyPagesPerPoll
    var empty = 0
    broken = false
    var spent = false
    pages.begin(if (once) runStart else clock.instant(), again = once && known.nonEmpty)
    while (pages.hasNext && tail.available < most && !broken && !spent) {
      val before = tail.until
      try tail.receive(receivePage(pages, tail, budget))
      finally pages.page.close()
      val records = tail.until - before
      empty = if (records == 0) empty + 1 else 0
      gap = if (records == 0 && !pages.atEnd) gap + 1 else 0
      broken = !pages.isBounded && !pages.atEnd && empty >= mostEmpty
      // A spent budget does not end a poll without records: the number of empty pages limits it.
      spent = budget.spent && (pages.isBounded || tail.available > 0)
    }
    if (broken && !endless && gap > maxGap) {
      endless = true
      val next = if (once) "This run ends; the next one continues there" else "Each poll now requests one more"
      log.warn(s"$gap pages in a row of ${options.requests.endpoint} have no records and name another page. $next. " +
        "emptyPages (in Python empty_pages) says whether such a page is the last one (end), or all are skipped (skip).")
    }
    val ends = pages.atEnd || broken && endless
    report(Extent(tail.until, if (ends) tail.until else Long.MaxValue))
    spent && !pages.atEnd
  }

  private def receivePage(pages: ListReader, tail: RestJournal.Tail, budget: PollBudget): RestCursor = {
    for (window <- pages.window; keys <- keys) keys.enter(window, tail.until)
    val missing = pages.next().missing
    if (missing > 0) warnOfLoss(tail.until - missing, tail.until)
    pages.blocks
      .flatMap(block => keys.fold(Option(block))(_.fresh(block)))
      .foreach(add(tail, budget)(_, pages.page.origin))
    tail.cursor.copy(next = Some(pages.nextPage(keys.fold(Seq.empty[SeenWindow])(_.seenWindows))))
  }

  private def readerAfter(tail: RestJournal.Tail): ListReader = {
    val page = tail.cursor.next.getOrElse(NextPage.First)
    keys = Some(pagination).collect { case windows: TimeWindow => windows }.flatMap(keysBefore(_, page, tail))
    new ListReader(new PageChain(options.requests, pagination), client, ChainState(page))
  }

  /** The keys of records that later windows may return again, from the journalled records of earlier windows. */
  private def keysBefore(windows: TimeWindow, page: NextPage, tail: RestJournal.Tail): Option[WindowKeys] = {
    val position = page.token.flatMap(WindowPosition.parse)
    val seenWindows = position.fold(Seq.empty[SeenWindow])(_.seenWindows)
    if (!windows.keyed && seenWindows.nonEmpty && position.exists(_.page.nonEmpty))
      throw RestOptions.group.conflict(
        "{option:overlap=0s}, an offset within a window that overlaps the one before",
        "Keep {option:overlap} and {option:keyColumns} until that window has been read to its end, and only then leave them out.")
    Option.when(windows.keyed) {
      val keys = new WindowKeys(windows.keys, options.errors.mismatch(_, _))
      seenWindows.zip(seenWindows.drop(1).map(_.record) :+ tail.until).foreach { case (window, until) =>
        keys.enter(Window(Instant.MIN, window.until), window.record)
        RestJournal.read(journal, tail.received, window.record, until)(keys.remember)
      }
      keys
    }
  }

  private def warnOfLoss(from: Long, until: Long): Unit = {
    val loss = options.errors.dataLoss(from, until, "the last page has fewer records than before")
    if (!warned) log.warn(s"Resuming when that page has more records again. $loss")
    warned = true
  }
}

/** `journal=true` for a [[Pagination]]: the driver fetches pages, several at a time, into
  * the journal.
  */
final private[rest] class CountedSupply(list: RestList) extends RestReceiver(list) {

  /** Pages requested ahead, per connection. */
  final private val Ahead = 4

  import list.options

  private val frontier = new RestFrontier(options, list.counters)
  private lazy val client = new HttpClient(options.requests.http, list.counters)
  private lazy val threads = PageFetch.threads(list.partitions)
  private var fetching = false
  private var once = false

  /** End of the records known to exist; a spent budget left some of them unreceived. */
  private var waiting = 0L

  override def known: Option[Extent] = frontier.extent

  override protected def reset(): Unit = waiting = 0L

  override def freezeEnd(): Unit = once = true

  /** A batch that was planned before `journal` was set is requested again. */
  override def partitions(start: RestPosition, end: RestPosition): Array[InputPartition] =
    if (end.journal.nonEmpty) super.partitions(start, end)
    else RestPlan.partitions(options, start.firstUntil(end), end.records, list.partitions)

  override protected def receivePages(tail: RestJournal.Tail, most: Long, budget: PollBudget): Boolean = {
    val from = tail.until
    val missing = most - tail.available
    // Under AvailableNow the end is searched first, because the run ends there.
    if (waiting <= from) waiting = frontier.exists(from, if (once) Long.MaxValue else missing, tail.cursor.marks)
    val until = if (waiting - from > missing) from + missing else waiting
    if (until > from) {
      tail.receive {
        fetch(RecordRange(from, until), budget)(add(tail, budget))
        tail.cursor.copy(marks = frontier.marks(tail.until, tail.cursor.marks))
      }
    }
    val spent = budget.spent && tail.until < until
    if (!spent && tail.until < until) waiting = 0L // The list has become shorter.
    spent
  }

  /** The pages that hold the range, including the last page's records past it. When the budget is spent, pages already
    * requested are still received.
    */
  private def fetch(
      range: RecordRange,
      budget: PollBudget)(each: (RecordBlock, Option[ResponseOrigin]) => Unit): Unit = {
    fetching = true
    val scan = options.requests.scan()
    val ahead = list.partitions * Ahead
    Using.resource(new PageFetch(options.requests, range, client, threads, ahead, Some(scan), () => !budget.spent)) {
      pages =>
        var at = range.from
        def continues = at == range.from || pages.underWay || !budget.spent
        while (at < range.until && continues && pages.moveTo(at)) {
          val (request, result) = (pages.request, pages.scanned)
          if (result.records > request.size)
            throw options.errors.mismatch(request, Plural.of(result.records.toLong, "record"))
          scan.blocks(result, pages.page.body).foreach(each(_, pages.page.origin))
          at = math.max(at, request.first + result.records)
        }
    }
  }

  override def close(): Unit = {
    super.close()
    frontier.close()
    if (fetching) {
      threads.shutdownNow()
      client.close()
    }
  }
}

/** Where reading resumes.
  *
  * @param next
  *   None if pages are found by counting records
  * @param marks
  *   of earlier records
  */
final private[rest] case class RestCursor(next: Option[NextPage], marks: Seq[Mark])

/** The journal's part of a [[RestPosition]]. */
final private[rest] class RestPositions(paging: Paging) extends JournalPositions[RestPosition, RestCursor] {

  override def rows(position: RestPosition): Long = position.records

  override def segments(position: RestPosition): Option[Seq[Segment]] = position.journal

  /** Segments with undelivered records, or with records that later windows may return again. */
  override def needed(position: RestPosition): Seq[Segment] = {
    val token = if (paging.isInstanceOf[TimeWindow]) cursor(position).next.flatMap(_.token) else None
    val window = token.flatMap(WindowPosition.parse).flatMap(_.seenWindows.headOption)
    val first = window.fold(position.records)(oldest => math.min(position.records, oldest.record))
    segments(position).getOrElse(Nil).filter(_.until > first)
  }

  override def cursor(position: RestPosition): RestCursor = position match {
    case list: RestPosition.Journalled => RestCursor(list.next, list.marks)
    case _                             => RestCursor(None, position.marks)
  }

  override def after(start: RestPosition, rows: Long, segments: Seq[Segment], cursor: RestCursor): RestPosition =
    RestPosition.Journalled(start.records + rows, segments, cursor.next, start.crawl, cursor.marks)

  override def at(like: RestPosition, row: Long): RestPosition = RestPosition.Planned(row, like.crawl)
}
