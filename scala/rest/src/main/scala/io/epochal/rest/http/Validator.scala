package io.epochal.rest.http

import java.time.Instant
import java.util.Locale

/** The validator of a response, for a conditional request (RFC 9110, section 8.8).
  *
  * @param header
  *   of the conditional request
  */
final private[epochal] case class Validator(header: String, value: String)

private[epochal] object Validator {

  /** The ETag of a response, else its Last-Modified if that is a strong validator: at least one second older than the
    * response (section 8.8.2.2).
    *
    * @param header
    *   looks up a header of the response
    */
  def of(header: String => Option[String]): Option[Validator] =
    header("ETag").filter(_.nonEmpty).map(Validator("If-None-Match", _)).orElse {
      for {
        date <- header("Last-Modified")
        now = Instant.now()
        since <- HttpDate.parse(date, now)
        responseTime <- header("Date").flatMap(HttpDate.parse(_, now))
        if !responseTime.isBefore(since.plusSeconds(1))
      } yield Validator("If-Modified-Since", date)
    }

  def isCondition(header: String): Boolean = Own(header.toLowerCase(Locale.ROOT))

  private val Own = Set("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range")
}
