package io.epochal.rest.http.request

import java.time.format.DateTimeFormatter
import java.time.{Instant, ZonedDateTime}
import java.util.Locale

import scala.util.Try

/** What tells a response from later ones to the same request (RFC 9110, section 8.8).
  *
  * @param header
  *   of the request that asks for another response than this
  */
final private[epochal] case class Validator(header: String, value: String)

private[epochal] object Validator {

  /** The ETag of a response, else its Last-Modified where no change can hide behind it: one that is at least a second older than
    * the response (section 8.8.2.2).
    *
    * @param header
    *   the value of a header of the response
    */
  def of(header: String => Option[String]): Option[Validator] =
    header("ETag").filter(_.nonEmpty).map(Validator("If-None-Match", _)).orElse {
      for {
        modified <- header("Last-Modified")
        since <- moment(modified)
        responded <- header("Date").flatMap(moment)
        if !responded.isBefore(since.plusSeconds(1))
      } yield Validator("If-Modified-Since", modified)
    }

  /** Whether a request has such a header of its own. */
  def isAskedBy(header: String): Boolean = Own(header.toLowerCase(Locale.ROOT))

  private val Own = Set("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range")

  private def moment(text: String): Option[Instant] =
    Try(ZonedDateTime.parse(text.trim, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant).toOption
}
