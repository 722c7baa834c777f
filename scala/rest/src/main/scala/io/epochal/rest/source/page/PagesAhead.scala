package io.epochal.rest.source.page

import java.util.concurrent.{ExecutionException, ExecutorService, Executors, Future}

import scala.collection.mutable

import io.epochal.core.thread.DaemonThreads
import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.paging.{PageRequest, RecordRange, RestOptions}

/** The responses to a range's requests, in their order, with some of them fetched before they are asked for.
  *
  * It is guessed that pages are full. Where one was not, the next request is another than the one that was made: what was fetched
  * is dropped, and costs requests but never records.
  *
  * @param depth
  *   requests under way at the same time; 1 makes each when it is asked for, in the calling thread
  */
final private[rest] class PagesAhead(options: RestOptions, range: RecordRange, client: HttpClient, depth: Int)
    extends AutoCloseable {
  import PagesAhead._

  private val ahead = mutable.Queue.empty[Fetch]
  private var current = new Page
  private var spare = Option.empty[Page]

  /** The response to a request. The one before it is used again.
    *
    * @throws EpochalException
    *   one of the HTTP conditions
    */
  def page(request: PageRequest): Page =
    if (depth <= 1) {
      fetch(request, current)(())
      current
    } else {
      if (!ahead.headOption.exists(_.request == request)) {
        giveUp()
        ahead += start(request, current)
      }
      val next = ahead.dequeue()
      follow(next.request, depth - 1)
      val fetched = next.await()
      if (fetched ne current) {
        current.close()
        spare = Some(current)
      }
      current = fetched
      follow(next.request, depth)
      current
    }

  /** Starts those that come after a request, until so many are made and not taken. */
  private def follow(request: PageRequest, most: Int): Unit = {
    var last = ahead.lastOption.fold(request)(_.request)
    while (ahead.size < most && last.end < range.until) {
      last = options.pagination.request(last.end)
      ahead += start(last, spare.getOrElse(new Page))
      spare = None
    }
  }

  private def start(request: PageRequest, into: Page): Fetch = {
    val fetching = new Fetch(request, into)
    fetching.begin(fetch(request, into)(()))
    fetching
  }

  /** Fills `into`.
    *
    * @param check
    *   belongs to the attempt: a response for which it throws a JsonProcessingException is not what the API holds, and is asked for
    *   again
    */
  def fetch(request: PageRequest, into: Page)(check: => Unit): Unit =
    client.call(options.planned(request), into.body) { head =>
      into.received(head, options.shown(request), options)
      check
    }

  override def close(): Unit = {
    giveUp()
    current.close()
    client.close()
  }

  /** Gives up what is under way; its responses are not used again. */
  private def giveUp(): Unit = {
    ahead.foreach(_.giveUp())
    ahead.clear()
  }
}

private object PagesAhead {

  /** Threads of all tasks of the JVM; each request has one, and they end when there is nothing to do. */
  private lazy val threads: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("epochal-rest-pages"))

  final private class Fetch(val request: PageRequest, into: Page) {
    private var page: Future[Page] = _

    /** Who fetches closes the response then. */
    @volatile private var unwanted = false

    def begin(fetch: => Unit): Unit =
      page = threads.submit[Page] { () =>
        try fetch
        finally if (unwanted) into.close()
        into
      }

    def await(): Page =
      try page.get()
      catch {
        case failed: ExecutionException => throw failed.getCause
        case interrupted: InterruptedException =>
          giveUp()
          throw interrupted
      }

    def giveUp(): Unit = {
      unwanted = true
      if (!page.cancel(true)) into.close()
    }
  }
}
