package io.epochal.rest.http

import java.time.{Instant, LocalDate, LocalTime, OffsetDateTime, ZoneOffset}
import java.util.Locale

import scala.util.Try

/** Dates in headers: IMF-fixdate, and the obsolete forms of RFC 850 and asctime (RFC 9110, section 5.6.7); also ISO 8601, in
  * UTC unless it has an offset.
  */
private[http] object HttpDate {
  private val Time = "(\\d{2}:\\d{2}:\\d{2})"
  private val Imf = s"[A-Za-z]+, (\\d{1,2}) ([A-Za-z]{3}) (\\d{4}) $Time (?:GMT|UTC|Z|[+-]0000)".r
  private val Rfc850 = s"[A-Za-z]+, (\\d{1,2})-([A-Za-z]{3})-(\\d{2}) $Time (?:GMT|UTC|Z|[+-]0000)".r
  private val Asctime = s"[A-Za-z]{3} ([A-Za-z]{3}) {1,2}(\\d{1,2}) $Time (\\d{4})".r
  private val Iso = s"(\\d{4}-\\d{2}-\\d{2})[Tt ]$Time([.]\\d{1,9})? ?(?:([+-]\\d{2}):?(\\d{2})|[Zz]|UTC|GMT)?".r
  private val Months =
    Seq("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

  /** @param now
    *   a year of two digits is at most 50 years after it
    * @return
    *   None: not a date
    */
  def parse(text: String, now: Instant): Option[Instant] = text.trim match {
    case Imf(day, month, year, time)     => at(year.toInt, month, day, time)
    case Asctime(month, day, time, year) => at(year.toInt, month, day, time)
    case Rfc850(day, month, year, time) =>
      val latest = now.atOffset(ZoneOffset.UTC).getYear + 50
      at(latest - Math.floorMod(latest - year.toInt, 100), month, day, time)
    case Iso(day, time, fraction, hours, minutes) =>
      val zone = if (hours == null) "Z" else s"$hours:$minutes"
      Try(OffsetDateTime.parse(s"${day}T$time${Option(fraction).getOrElse("")}$zone").toInstant).toOption
    case _ => None
  }

  private def at(year: Int, month: String, day: String, time: String): Option[Instant] = Try {
    LocalDate
      .of(year, Months.indexOf(month.toLowerCase(Locale.ROOT)) + 1, day.toInt)
      .atTime(LocalTime.parse(time))
      .toInstant(ZoneOffset.UTC)
  }.toOption
}
