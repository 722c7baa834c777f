package io.epochal.rest.source.page

import java.util.Arrays
import java.util.concurrent.{ConcurrentLinkedQueue, ExecutionException, ExecutorService, Executors, Future}

import scala.collection.mutable
import scala.util.{Try, Using}

import org.slf4j.LoggerFactory

import io.epochal.core.error.Plural
import io.epochal.core.thread.DaemonThreads
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.paging.{RecordRange, RestOptions}
import io.epochal.rest.source.record.ScannedAnswer

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
  def fetch(range: RecordRange, goesOn: () => Boolean = () => true)(each: RecordBlock => Unit): Unit = {
    val waiting = mutable.Queue.empty[Future[Fetched]]
    val parts = ranges(range)
    def ask(): Unit = parts.nextOption().foreach(part => waiting.enqueue(threads.submit(() => work(part))))
    var whole = true
    try {
      (0 until connections * Ahead).foreach(_ => if (waiting.isEmpty || goesOn()) ask())
      while (whole && waiting.nonEmpty) {
        val fetched = waiting.dequeue().get()
        if (goesOn()) ask()
        Using.resource(fetched)(_.pages.foreach(_.blocks.foreach(each)))
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
    private var answer = new Answer
    private val scan = AnswerScan.of(options)

    override def close(): Unit = {
      client.close()
      answer.close()
    }

    /** One page, or several where the server gives smaller ones than it is asked for. */
    def fetch(range: RecordRange): Fetched = {
      val pages = mutable.ArrayBuffer.empty[Page]
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
    private def fetch(range: RecordRange, pages: mutable.Buffer[Page]): Boolean = {
      var at = range.from
      var whole = true
      var request = options.pagination.request(at)
      var before = Option.empty[PageRecords]
      while (whole && at < range.until) {
        val skip = at - request.first
        // The page goes on where the one before ended: it may have what the next part asks for.
        val take = if (before.isEmpty) Long.MaxValue else range.until - at
        var records = Option.empty[PageRecords]
        val scanned = client.call(options.planned(request), answer.body) { head =>
          answer.came(head, options.shown(request), options)
          records = Option.when(before.nonEmpty || skip > 0)(PageRecords.of(options, answer.body))
          scan.read(answer.body, skip, take)
        }
        if (scanned.records > request.size)
          throw options.mismatch(request, Plural.of(scanned.records.toLong, "record"))
        val repeated = before.exists(page => records.exists(page.isRepeatedBy)) && skip == 0
        val fresh = if (repeated) 0L else math.min(math.max(0L, scanned.records - skip), take)
        val next = options.pagination.goOn(at + fresh)
        whole = fresh > 0 || next != request && !repeated
        if (whole && at + fresh < range.until)
          before = records.orElse(Some(PageRecords.of(options, answer.body)))
        if (fresh > 0) pages += taken(scanned)
        at += fresh
        if (!whole) lost(at, range.until)
        request = next
      }
      whole
    }

    /** Leaves memory to the next answer. */
    private def taken(scanned: ScannedAnswer): Page =
      if (answer.body.file.isEmpty) new Page(scan.blocks(scanned, answer).map(copied).toList.iterator, None)
      else {
        val page = new Page(scan.blocks(scanned, answer), Some(answer))
        answer = new Answer
        page
      }

    private def copied(block: RecordBlock): RecordBlock = {
      val bytes = Arrays.copyOfRange(block.bytes, block.from, block.until)
      block.copy(bytes = bytes, from = 0, until = bytes.length)
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
  final private case class Fetched(pages: Seq[Page], whole: Boolean) extends AutoCloseable {
    override def close(): Unit = pages.foreach(_.close())
  }

  /** @param blocks
    *   of no use any more once it is closed
    * @param source
    *   the answer that they are read from, where it lies in a file
    */
  final private class Page(val blocks: Iterator[RecordBlock], source: Option[Answer]) extends AutoCloseable {
    override def close(): Unit = source.foreach(_.close())
  }

  private val log = LoggerFactory.getLogger(classOf[PageFetch])

  /** Pages for each connection that are asked for, or wait to be handed over. */
  private val Ahead = 4
}
