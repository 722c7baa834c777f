package io.epochal.rest.source

import java.time.Instant
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import org.slf4j.LoggerFactory

import io.epochal.kit.record.RecordBlock
import io.epochal.rest.http.HttpClient

/** Reads the pages of a list as a [[PageChain]] decides. Not thread-safe.
  *
  * @param start
  *   where to begin
  * @param contacted
  *   whether the server has responded before
  * @param provenSize
  *   the size of the largest page that is not limited by the server, of all lists that share it
  */
final private[rest] class ListReader(
    chain: PageChain,
    client: HttpClient,
    start: ChainState = ChainState(),
    contacted: AtomicBoolean = new AtomicBoolean,
    provenSize: AtomicLong = new AtomicLong)
    extends AutoCloseable {
  import chain.{list, pagination}

  private lazy val log = LoggerFactory.getLogger(classOf[ListReader])
  private val scan = list.scan(pagination.pointers, pagination.key, pagination.json)
  private val requests = new PageRequests(list, client, scan, contacted)
  private var at = start
  private var isPollNew = false
  private var records = 0

  def state: ChainState = at

  /** The last page. */
  def page: Page = requests.page

  /** The new records of the last page, in one or several blocks. */
  def blocks: Iterator[RecordBlock] = if (records == 0) Iterator.empty else requests.blocks

  /** Whether time limits a poll, and not the number of pages without records. */
  def isBounded: Boolean = chain.windows.nonEmpty

  /** Whether no page follows at present. */
  def atEnd: Boolean = chain.isAtEnd(at)

  /** The time window of the next page. */
  def window: Option[Window] = chain.windows.map(_.positionAt(at.next.token).window)

  /** Where reading continues.
    *
    * @param seenWindows
    *   windows whose records may be returned again
    */
  def nextPage(seenWindows: Seq[SeenWindow]): NextPage =
    if (seenWindows.isEmpty) at.next
    else NextPage(at.next.token.flatMap(WindowPosition.parse).map(_.copy(seenWindows = seenWindows).text), 0)

  /** Begins a poll, which requests the last page again: it may have grown.
    *
    * @param again
    *   whether it continues the previous poll: their pages count together against `maxPages`
    */
  def begin(now: Instant, again: Boolean = false): Unit = {
    at = chain.begin(at, now, again)
    isPollNew = true
  }

  /** Whether the poll has a page to request. */
  def hasNext: Boolean = !chain.isAtEnd(if (isPollNew) at.copy(atEnd = false) else at)

  /** Requests the next page.
    *
    * @throws EpochalException
    *   TOO_MANY_PAGES, TOO_MANY_EMPTY_PAGES, PAGINATION_LOOP, PAGINATION_MISMATCH, PAGE_REFUSED, LINK_REFUSED, or one of
    *   the HTTP conditions; the position is unchanged then
    */
  def next(): Delivery = {
    val isFirstContact = !contacted.get
    val delivery = requests.run(chain.next(at.copy(provenSize = provenSize.get)))
    if (isFirstContact && at.next == NextPage.First && delivery.state.atEnd)
      log.info(s"The first page of ${list.endpoint} names no next page: it is taken to be the whole list.")
    at = delivery.state
    isPollNew = false
    records = delivery.records
    provenSize.accumulateAndGet(at.provenSize, math.max(_, _)): Unit
    delivery
  }

  /** The pages up to the end, each requested when it is needed. */
  def deliveries: Iterator[Delivery] = Iterator.continually(hasNext).takeWhile(identity).map(_ => next())

  override def close(): Unit = requests.close()
}
