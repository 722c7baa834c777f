package io.epochal.spark.source.rest.page

import java.time.Instant
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}

import io.epochal.spark.http.{BodyBuffer, HttpClient}
import io.epochal.spark.source.rest.RestOptions
import io.epochal.spark.source.rest.record.AnswerColumn

/** One answer, as it came. Used again for the next one. */
final private[rest] class Answer extends AutoCloseable {
  val body: BodyBuffer = BodyBuffer.ofPage()

  /** Where it came from, without anything that may be secret. */
  var url: String = ""
  var status: Int = 0

  /** When it came: microseconds since 1970. */
  var fetchedAt: Long = 0L

  /** Only where a column wants them. */
  var headers: Map[String, String] = Map.empty

  /** It can be used again. */
  override def close(): Unit = body.close()
}

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

  private val wantsHeaders = options.rules.answer.contains(AnswerColumn.Headers)

  override def fetch(request: PageRequest, answer: Answer)(check: => Unit): Unit =
    client.call(options.call(request), answer.body) { head =>
      val now = Instant.now()
      answer.url = options.shown(request)
      answer.status = head.status
      answer.fetchedAt = SECONDS.toMicros(now.getEpochSecond) + NANOSECONDS.toMicros(now.getNano.toLong)
      if (wantsHeaders) answer.headers = AnswerHeaders.of(head, options.http)
      check
    }

  override def close(): Unit = client.close()
}
