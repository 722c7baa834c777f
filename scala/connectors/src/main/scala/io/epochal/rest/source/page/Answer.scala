package io.epochal.rest.source.page

import java.time.Instant
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}

import io.epochal.rest.http.request.{BodyBuffer, HttpAnswer}
import io.epochal.rest.source.paging.RestOptions
import io.epochal.rest.source.record.{AnswerColumn, AnswerOrigin}

/** One answer, as it came. Used again for the next one. */
final private[rest] class Answer(val body: BodyBuffer = BodyBuffer.ofPage()) extends AutoCloseable {
  private var origin = Option.empty[AnswerOrigin]

  /** Where it came from; None: nobody has said that. */
  def from: Option[AnswerOrigin] = origin

  /** @param url
    *   without anything that may be secret
    */
  def came(head: HttpAnswer, url: => String, options: RestOptions): Unit =
    origin = Option.when(options.rules.tellsOrigin) {
      val now = Instant.now()
      AnswerOrigin(
        url,
        head.status,
        SECONDS.toMicros(now.getEpochSecond) + NANOSECONDS.toMicros(now.getNano.toLong),
        Option.when(options.rules.answer.contains(AnswerColumn.Headers))(AnswerHeaders.of(head, options.own))
      )
    }

  def cameFrom(origin: Option[AnswerOrigin]): Unit = this.origin = origin

  /** It can be used again. */
  override def close(): Unit = body.close()
}
