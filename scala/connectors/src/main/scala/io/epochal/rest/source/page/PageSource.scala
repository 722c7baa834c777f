package io.epochal.rest.source.page

import io.epochal.rest.http.HttpClient
import io.epochal.rest.source.paging.{PageRequest, RestOptions}

/** Where a task's pages come from. */
private[rest] trait PageSource extends AutoCloseable {

  /** Fills `answer`.
    *
    * @param check
    *   belongs to the attempt: an answer for which it throws a JsonProcessingException is not what the source holds, and
    *   is asked for again where that is possible
    */
  def fetch(request: PageRequest, answer: Answer)(check: => Unit): Unit
}

/** Pages from the API itself. */
final private[rest] class FetchedPages(options: RestOptions, client: HttpClient) extends PageSource {

  override def fetch(request: PageRequest, answer: Answer)(check: => Unit): Unit =
    client.call(options.planned(request), answer.body) { head =>
      answer.came(head, options.shown(request), options)
      check
    }

  override def close(): Unit = client.close()
}
