package io.epochal.rest.source

import java.time.format.DateTimeFormatter
import java.time.temporal.ChronoUnit
import java.time.{Duration, Instant, ZoneOffset}
import java.util.Locale

/** How a moment is written in a request.
  *
  * @param name
  *   the value of the option
  */
sealed abstract class InstantFormat(val name: String, smallest: ChronoUnit, write: Instant => String)
    extends Serializable {

  /** The resolution of the format. */
  def unit: Duration = smallest.getDuration

  /** The unit's name in messages. */
  def units: String = smallest.toString.toLowerCase(Locale.ROOT)

  def text(instant: Instant): String = write(floor(instant))

  /** Whether the format expresses a moment exactly. */
  def canExpress(instant: Instant): Boolean = floor(instant) == instant

  /** The latest moment that the format can express, up to the given one. */
  def floor(instant: Instant): Instant = instant.truncatedTo(smallest)
}

object InstantFormat {
  private val Millis = DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'", Locale.ROOT).withZone(ZoneOffset.UTC)

  /** `2026-01-01T00:00:00Z` */
  case object Iso extends InstantFormat("iso", ChronoUnit.SECONDS, DateTimeFormatter.ISO_INSTANT.format(_))

  /** `2026-01-01T00:00:00.000Z` */
  case object IsoMillis extends InstantFormat("iso-millis", ChronoUnit.MILLIS, Millis.format(_))

  /** `2026-01-01`, of UTC */
  case object IsoDate
      extends InstantFormat("iso-date", ChronoUnit.DAYS, _.atOffset(ZoneOffset.UTC).toLocalDate.toString)
  case object EpochSeconds extends InstantFormat("epoch-seconds", ChronoUnit.SECONDS, _.getEpochSecond.toString)
  case object EpochMillis extends InstantFormat("epoch-millis", ChronoUnit.MILLIS, _.toEpochMilli.toString)

  val all: Seq[InstantFormat] = Seq(Iso, IsoMillis, IsoDate, EpochSeconds, EpochMillis)
}
