package io.epochal.rest.source.page

import java.time.Instant
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}

import io.epochal.kit.record.Body
import io.epochal.rest.http.request.ResponseHead
import io.epochal.rest.source.paging.{OriginColumns, ResponseOrigin, RestOptions}

/** One response, as it came. Used again for the next one. */
final private[rest] class Page extends AutoCloseable {
  val body: Body = Body.ofPage()
  private var from = Option.empty[ResponseOrigin]

  /** Where it came from; None: that is not known. */
  def origin: Option[ResponseOrigin] = from

  /** Remembers that, where a column tells it.
    *
    * @param url
    *   without anything that may be secret
    */
  def received(head: ResponseHead, url: => String, options: RestOptions): Unit =
    from = Option.when(OriginColumns.ofResponse(options.rules)) {
      val now = Instant.now()
      ResponseOrigin(
        url,
        head.status,
        SECONDS.toMicros(now.getEpochSecond) + NANOSECONDS.toMicros(now.getNano.toLong),
        Option.when(options.rules.origin.contains(OriginColumns.Headers))(ResponseHeaders.of(head, options.own))
      )
    }

  /** It can be used again. */
  override def close(): Unit = body.close()
}
