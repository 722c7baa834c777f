package io.epochal.rest.source

import java.time.format.{DateTimeFormatter, DateTimeFormatterBuilder}
import java.time.temporal.TemporalQueries
import java.time.{Instant, LocalDate, LocalTime, ZoneOffset}

import scala.util.Try

/** Moments as APIs write them. */
private[rest] object SinceMoments {

  private val Iso = new DateTimeFormatterBuilder().parseCaseInsensitive
    .append(DateTimeFormatter.ISO_LOCAL_DATE)
    .optionalStart
    .appendLiteral('T')
    .append(DateTimeFormatter.ISO_LOCAL_TIME)
    .appendPattern("[XXX][XX][X]")
    .optionalEnd
    .toFormatter(java.util.Locale.ROOT)

  /** A date, or a date and a time with a `T` or a space between them; UTC without an offset. */
  def parse(text: String): Option[Instant] = Try {
    val fields = Iso.parse(text.trim.replaceFirst("^(\\S{10}) ", "$1T"))
    val time = Option(fields.query(TemporalQueries.localTime)).getOrElse(LocalTime.MIDNIGHT)
    val offset = Option(fields.query(TemporalQueries.offset)).getOrElse(ZoneOffset.UTC)
    LocalDate.from(fields).atTime(time).toInstant(offset)
  }.toOption

  /** @param perSecond
    *   how many units a second has
    */
  def ofNumber(units: BigDecimal, perSecond: Int): Option[Instant] = Try {
    val (seconds, rest) = (units * (1000000000 / perSecond)).toBigInt /% 1000000000
    Instant.ofEpochSecond(seconds.bigInteger.longValueExact, rest.toLong)
  }.toOption
}
