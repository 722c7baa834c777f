package io.epochal.rest.source.page

import java.util.Arrays
import java.util.concurrent.{ConcurrentLinkedQueue, ExecutionException, ExecutorService, Executors, Future}

import scala.collection.mutable
import scala.util.{Try, Using}

import org.slf4j.LoggerFactory

import io.epochal.core.error.Plural
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.record.{RecordBlock, ScannedPage}
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.{RecordRange, ResponseOrigin, RestOptions}

/** Fetches the pages of a range, several at a time, and hands them over in order. One caller at a time.
  *
  * @param connections
  *   pages that are asked for at a time
  */
final private[rest] class PageFetch(options: RestOptions, counters: HttpCounters, connections: Int)
    extends AutoCloseable {
  import PageFetch._

  private val threads: ExecutorService =
    Executors.newFixedThreadPool(connections, new DaemonThreads("epochal-rest-pages"))
  private val idle = new ConcurrentLinkedQueue[Worker]

  /** @param goesOn
    *   false: no more pages are asked for; those that were are handed over
    * @param each
    *   gets the pages that hold the range, and what their last one has after it, in one or several blocks each; called in the
    *   caller's thread
    * @throws EpochalException
    *   DATA_LOSS where the API ends within the range; with failOnDataLoss=false the pages before that are all
    */
  def fetch(range: RecordRange, goesOn: () => Boolean = () => true)(
      each: (RecordBlock, Option[ResponseOrigin]) => Unit): Unit = {
    val waiting = mutable.Queue.empty[Future[Fetched]]
    val parts = ranges(range)
    def ask(): Unit = parts.nextOption().foreach(part => waiting.enqueue(threads.submit(() => work(part))))
    var whole = true
    try {
      (0 until connections * Ahead).foreach(_ => if (waiting.isEmpty || goesOn()) ask())
      while (whole && waiting.nonEmpty) {
        val fetched = waiting.dequeue().get()
        if (goesOn()) ask()
        Using.resource(fetched)(_.pages.foreach(page => page.blocks.foreach(each(_, page.origin))))
        whole = fetched.whole
      }
    } catch {
      case e: ExecutionException => throw e.getCause
    } finally waiting.foreach(giveUp)
  }

  /** What is under way yet is thrown away by who fetches it. */
  private def giveUp(part: Future[Fetched]): Unit =
    if (!part.cancel(true)) Try(part.get()).foreach(_.close())

  override def close(): Unit = {
    val _ = threads.shutdownNow()
    idle.forEach(_.close())
  }

  private def ranges(range: RecordRange): Iterator[RecordRange] =
    Iterator.unfold(range.from) { at =>
      Option.when(at < range.until) {
        val end = math.min(options.pagination.request(at).end, range.until)
        (RecordRange(at, end), end)
      }
    }

  private def work(range: RecordRange): Fetched = {
    val worker = Option(idle.poll()).getOrElse(new Worker)
    try worker.fetch(range)
    finally { val _ = idle.add(worker) }
  }

  final private class Worker extends AutoCloseable {
    private val client = new HttpClient(options.http, counters)
    private var page = new Page
    private val scan = options.scan()

    override def close(): Unit = {
      client.close()
      page.close()
    }

    /** One page, or several where the server gives smaller ones than it is asked for. */
    def fetch(range: RecordRange): Fetched = {
      val pages = mutable.ArrayBuffer.empty[Received]
      try {
        val whole = fetch(range, pages)
        if (Thread.interrupted()) throw new InterruptedException // Nobody waits for them any more.
        Fetched(pages.toSeq, whole)
      } catch {
        case e: Throwable =>
          pages.foreach(_.close())
          throw e
      }
    }

    /** @return
      *   whether that is all of it
      */
    private def fetch(range: RecordRange, pages: mutable.Buffer[Received]): Boolean = {
      var at = range.from
      var whole = true
      var request = options.pagination.request(at)
      var before = Option.empty[PageRecords]
      while (whole && at < range.until) {
        val skip = at - request.first
        // The page goes on where the one before ended: it may have what the next part asks for.
        val take = if (before.isEmpty) Long.MaxValue else range.until - at
        var records = Option.empty[PageRecords]
        val scanned = client.call(options.planned(request), page.body) { head =>
          page.received(head, options.shown(request), options)
          records = Option.when(before.nonEmpty || skip > 0)(PageRecords.of(options, page.body))
          scan.read(page.body, skip, take)
        }
        if (scanned.records > request.size)
          throw options.mismatch(request, Plural.of(scanned.records.toLong, "record"))
        val repeated = before.exists(page => records.exists(page.isRepeatedBy)) && skip == 0
        val fresh = if (repeated) 0L else math.min(math.max(0L, scanned.records - skip), take)
        val next = options.pagination.goOn(at + fresh)
        whole = fresh > 0 || next != request && !repeated
        if (whole && at + fresh < range.until)
          before = records.orElse(Some(PageRecords.of(options, page.body)))
        if (fresh > 0) pages += taken(scanned)
        at += fresh
        if (!whole) lost(at, range.until)
        request = next
      }
      whole
    }

    /** Leaves memory to the next response. */
    private def taken(scanned: ScannedPage): Received =
      if (page.body.file.isEmpty)
        new Received(scan.blocks(scanned, page.body).map(copied).toList.iterator, page.origin, None)
      else {
        val received = new Received(scan.blocks(scanned, page.body), page.origin, Some(page))
        page = new Page
        received
      }

    private def copied(block: RecordBlock): RecordBlock = {
      val bytes = Arrays.copyOfRange(block.bytes, block.from, block.until)
      RecordBlock(block.records, bytes, 0, bytes.length)
    }
  }

  private def lost(at: Long, until: Long): Unit =
    log.warn(options.lost(at, until, s"the list now ends before record $at"))
}

private object PageFetch {

  /** What came for a part of the range.
    *
    * @param whole
    *   whether that is all of it
    */
  final private case class Fetched(pages: Seq[Received], whole: Boolean) extends AutoCloseable {
    override def close(): Unit = pages.foreach(_.close())
  }

  /** @param blocks
    *   of no use any more once it is closed
    * @param source
    *   the response that they are read from, where it lies in a file
    */
  final private class Received(
      val blocks: Iterator[RecordBlock],
      val origin: Option[ResponseOrigin],
      source: Option[Page]
  ) extends AutoCloseable {
    override def close(): Unit = source.foreach(_.close())
  }

  private val log = LoggerFactory.getLogger(classOf[PageFetch])

  /** Pages for each connection that are asked for, or wait to be handed over. */
  private val Ahead = 4
}
