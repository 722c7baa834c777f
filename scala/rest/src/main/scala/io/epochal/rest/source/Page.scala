package io.epochal.rest.source

import java.time.Instant
import java.util.concurrent.TimeUnit.{NANOSECONDS, SECONDS}

import io.epochal.kit.record.Body
import io.epochal.rest.http.ResponseHead

/** A response in a reusable buffer. */
final private[rest] class Page extends AutoCloseable {
  val body: Body = Body.ofPage()
  private var from = Option.empty[ResponseOrigin]

  /** The response's origin; None if no column needs it. */
  def origin: Option[ResponseOrigin] = from

  /** Records the origin if a column needs it.
    *
    * @param url
    *   without possible secrets
    */
  def recordOrigin(head: ResponseHead, url: => String, list: ListRequests): Unit =
    from = Option.when(list.keepsOrigin) {
      val now = Instant.now()
      ResponseOrigin(
        url,
        head.status,
        SECONDS.toMicros(now.getEpochSecond) + NANOSECONDS.toMicros(now.getNano.toLong),
        Option.when(list.rules.origin.contains(OriginColumns.Headers))(ResponseHeaders.of(head, list.own))
      )
    }

  /** Releases the body; the page can be reused. */
  override def close(): Unit = body.close()
}
