package io.epochal.rest.source

import java.time.Instant
import java.util.Locale
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

/** The headers of a response, for a column: names in lower case, and values of the same name joined by ", ". Headers
  * that may be credentials are omitted, and known secrets are masked in the others.
  */
private[rest] object ResponseHeaders {
  private val Secret = "cookie|auth|token|secret|session|credential|signature|csrf|xsrf|api-?key".r.unanchored

  def of(response: ResponseHead, own: OwnParameters): Map[String, String] =
    response.all
      .map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }
      .filterNot { case (name, _) => Secret.matches(name) }
      .groupMapReduce(_._1)(_._2)((one, other) => s"$one, $other")
      .map { case (name, text) => name -> own.mask(text) }
}
