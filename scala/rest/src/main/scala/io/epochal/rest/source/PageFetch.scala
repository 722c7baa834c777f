package io.epochal.rest.source

import java.util.concurrent.{ExecutionException, ExecutorService, Executors, Future}

import scala.collection.mutable

import com.fasterxml.jackson.core.JsonProcessingException
import org.slf4j.LoggerFactory

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.record.{PageScan, ScannedPage}
import io.epochal.rest.http.{HttpClient, Refusal}

/** The pages that hold a range of counted records, in order; some of them are requested ahead. Not thread-safe.
  *
  * A page may have fewer records than requested: the next request continues after its last record. Requests ahead assume
  * full pages; after a short page their responses are discarded, which costs requests but never records. A response
  * without any new record is the end of the list, and so a loss within the range.
  *
  * @param threads
  *   send the requests
  * @param ahead
  *   maximum number of requested pages; 1 requests each page when it is needed, in the calling thread
  * @param scan
  *   reads each page as a part of the attempt, so that it is known to be complete; None: the caller reads it
  * @param fetchesAhead
  *   false: no more pages are requested ahead
  */
final private[rest] class PageFetch(
    list: ListRequests,
    range: RecordRange,
    client: HttpClient,
    threads: ExecutorService,
    ahead: Int,
    scan: Option[PageScan] = None,
    fetchesAhead: () => Boolean = () => true
) extends AutoCloseable {

  private val waiting = mutable.Queue.empty[Fetch]
  private val spare = mutable.Queue.empty[Page]
  private var current: Fetch = _
  private var taken = 0L

  /** The current page. */
  def page: Page = current.page

  def request: PageRequest = current.request

  /** The scan's result, beginning with the record passed to `moveTo`. */
  def scanned: ScannedPage = current.scanned

  /** Whether the whole page is known to be in its format. */
  def isProven: Boolean = current.proven

  /** Number of pages moved to. */
  def count: Long = taken

  /** Whether pages requested ahead have not been moved to yet. */
  def underWay: Boolean = waiting.nonEmpty

  /** Moves to the page with a record: the first of the range, or the one after the last record of the previous page.
    *
    * @return
    *   false: the list ends before that record
    * @throws EpochalException
    *   DATA_LOSS if the list ends early and failOnDataLoss is set, or one of the HTTP conditions
    */
  def moveTo(record: Long): Boolean = {
    val before = Option(current)
    val endedEarly = before.exists(record < _.request.end)
    val request = if (endedEarly) list.pagination.continueAt(record) else list.pagination.request(record)
    if (before.exists(_.is(request, record))) lost(record)
    else {
      val previous = Option.when(endedEarly && request.first == record)(records)
      take(request, record)
      !previous.exists(isRepeated) || lost(record)
    }
  }

  /** Requests the page again until the whole response is in its format. */
  def reload(): Unit = fetch(current)(prove())

  /** Whether the whole page is in its format. */
  def isWhole: Boolean =
    try {
      prove()
      true
    } catch { case _: JsonProcessingException => false }

  /** Cancels pending requests; their responses are discarded. */
  override def close(): Unit = {
    giveUp()
    Option(current).foreach(_.page.close())
  }

  private def prove(): Unit = {
    list.rules.format.count(page.body, list.place): Unit
    current.proven = true
  }

  /** Whether the page that should continue the previous one is that page again, in its current form: longer, shorter or
    * the same. A server whose pages begin at multiples of their size responds so when a request begins within a page.
    */
  private def isRepeated(before: Vector[Long]): Boolean = {
    val now =
      try records
      catch {
        case _: JsonProcessingException if !isProven =>
          reload()
          records
      }
    val both = before.zip(now)
    both.nonEmpty && both.forall { case (one, other) => one == other }
  }

  /** The records of the current page, each identified by its digest.
    *
    * @throws JsonProcessingException
    *   if the response is not in its format
    */
  private def records: Vector[Long] = {
    val all = list.rules.format.open(page.body, list.place)
    Iterator
      .continually(all)
      .takeWhile(_.next())
      .map { record =>
        record.pass()
        PageDigest.of(record.bytes)
      }
      .toVector
  }

  private def lost(record: Long): Boolean = {
    val response = current.refusal.fold("")(refusal => s": its page was refused with $refusal")
    PageFetch.log.warn(list.errors.dataLoss(record, range.until, s"the list now ends before record $record$response"))
    false
  }

  private def take(request: PageRequest, record: Long): Unit = {
    Option(current).foreach { done =>
      done.page.close()
      spare += done.page
    }
    taken += 1
    if (ahead <= 1) {
      current = new Fetch(request, record)
      current.run()
    } else {
      if (!waiting.headOption.exists(_.is(request, record))) {
        giveUp()
        start(request, record)
      }
      current = waiting.dequeue()
      follow(ahead - 1)
      current.await()
      follow(ahead)
    }
  }

  /** Requests the pages after the current one, up to `depth` pages ahead. */
  private def follow(depth: Int): Unit = {
    def last = waiting.lastOption.getOrElse(current).request.end
    while (waiting.size < depth && last < range.until && fetchesAhead()) start(list.pagination.request(last), last)
  }

  private def start(request: PageRequest, record: Long): Unit = {
    val fetch = new Fetch(request, record)
    fetch.begin()
    waiting += fetch
  }

  private def giveUp(): Unit = {
    waiting.foreach(_.giveUp())
    waiting.clear()
  }

  /** @param check
    *   part of the attempt: if it throws a JsonProcessingException, the request is retried
    */
  private def fetch(into: Fetch)(check: => Unit): Unit =
    client.call(list.plannedCall(into.request), into.page.body) { head =>
      into.refusal = head.refusal
      into.page.recordOrigin(head, list.pageUrl(into.request), list)
      check
    }

  /** @param from
    *   the first record to read from the page
    */
  final private class Fetch(val request: PageRequest, from: Long) {
    val page: Page = if (spare.isEmpty) new Page else spare.dequeue()
    var scanned: ScannedPage = ScannedPage.nothing
    var proven: Boolean = scan.nonEmpty
    var refusal: Option[Refusal] = None

    private var done: Future[_] = _

    /** Set when the result is discarded: the fetching thread closes the response then. */
    @volatile private var unwanted = false

    def is(other: PageRequest, record: Long): Boolean = request == other && from == record

    def run(): Unit =
      fetch(this)(scan.foreach(pages => scanned = pages.read(page.body, from - request.first)))

    def begin(): Unit = {
      val task: Runnable = () =>
        try run()
        finally if (unwanted) page.close()
      done = threads.submit(task)
    }

    def await(): Unit =
      try done.get(): Unit
      catch {
        case failed: ExecutionException => throw failed.getCause
        case interrupted: InterruptedException =>
          giveUp()
          throw interrupted
      }

    def giveUp(): Unit = {
      unwanted = true
      if (!done.cancel(true)) page.close()
    }
  }
}

private[rest] object PageFetch {
  private val log = LoggerFactory.getLogger(classOf[PageFetch])

  /** Threads of all tasks of the JVM: one per request; idle threads end. */
  lazy val threads: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("epochal-rest-pages"))

  /** Threads of one stream. */
  def threads(connections: Int): ExecutorService =
    Executors.newFixedThreadPool(connections, new DaemonThreads("epochal-rest-pages"))
}
