package io.epochal.rest.source.page

import java.util.concurrent.{ExecutionException, ExecutorService, Executors, Future}

import scala.collection.mutable

import io.epochal.core.thread.DaemonThreads
import io.epochal.rest.source.paging.{PageRequest, RecordRange, RestOptions}

/** The answers to a range's requests, in their order, with some of them fetched before they are asked for.
  *
  * It is guessed that pages are full. Where one was not, the next request is another than the one that was made: what was fetched
  * is dropped, and costs requests but never records.
  *
  * @param depth
  *   requests under way at the same time; 1 makes each when it is asked for, in the calling thread
  */
final private[rest] class PagesAhead(options: RestOptions, range: RecordRange, source: PageSource, depth: Int)
    extends AutoCloseable {
  import PagesAhead._

  private val ahead = mutable.Queue.empty[Fetch]
  private var current = new Answer
  private var spare = Option.empty[Answer]

  /** The answer to a request. The one before it is used again.
    *
    * @throws EpochalException
    *   one of the HTTP conditions
    */
  def answer(request: PageRequest): Answer =
    if (depth <= 1) {
      fetch(request, current)
      current
    } else {
      if (!ahead.headOption.exists(_.request == request)) {
        giveUp()
        ahead += start(request, current)
      }
      val next = ahead.dequeue()
      follow(next.request, depth - 1)
      val answered = next.await()
      if (answered ne current) {
        current.close()
        spare = Some(current)
      }
      current = answered
      follow(next.request, depth)
      current
    }

  /** Starts those that come after a request, until so many are made and not taken. */
  private def follow(request: PageRequest, most: Int): Unit = {
    var last = ahead.lastOption.fold(request)(_.request)
    while (ahead.size < most && last.end < range.until) {
      last = options.pagination.request(last.end)
      ahead += start(last, spare.getOrElse(new Answer))
      spare = None
    }
  }

  private def start(request: PageRequest, into: Answer): Fetch = {
    val fetching = new Fetch(request, into)
    fetching.begin(fetch(request, into))
    fetching
  }

  private def fetch(request: PageRequest, into: Answer): Unit = source.fetch(request, into)(())

  override def close(): Unit = {
    giveUp()
    current.close()
  }

  /** Gives up what is under way; its answers are not used again. */
  private def giveUp(): Unit = {
    ahead.foreach(_.giveUp())
    ahead.clear()
  }
}

private object PagesAhead {

  /** Threads of all tasks of the JVM; each request has one, and they end when there is nothing to do. */
  private lazy val threads: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("epochal-rest-pages"))

  final private class Fetch(val request: PageRequest, into: Answer) {
    private var answer: Future[Answer] = _

    /** Who fetches closes the answer then. */
    @volatile private var unwanted = false

    def begin(fetch: => Unit): Unit =
      answer = threads.submit[Answer] { () =>
        try fetch
        finally if (unwanted) into.close()
        into
      }

    def await(): Answer =
      try answer.get()
      catch {
        case failed: ExecutionException => throw failed.getCause
        case interrupted: InterruptedException =>
          giveUp()
          throw interrupted
      }

    def giveUp(): Unit = {
      unwanted = true
      if (!answer.cancel(true)) into.close()
    }
  }
}
