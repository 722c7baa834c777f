package io.epochal.rest.source.paging

import java.time.format.DateTimeFormatter
import java.time.temporal.ChronoUnit
import java.time.{Duration, Instant, ZoneOffset}
import java.util.Locale

/** How a moment is written in a request.
  *
  * @param name
  *   as in the option
  */
sealed abstract class InstantFormat(val name: String, smallest: ChronoUnit) extends Serializable {

  /** The smallest difference that it can tell. */
  def unit: Duration = smallest.getDuration

  def text(instant: Instant): String

  /** Whether it can be told from its neighbours. */
  def tells(instant: Instant): Boolean = floor(instant) == instant

  /** The last moment that can be told, and is not later. */
  def floor(instant: Instant): Instant = instant.truncatedTo(smallest)
}

object InstantFormat {

  /** `2026-01-01T00:00:00Z` */
  case object Iso extends InstantFormat("iso", ChronoUnit.SECONDS) {
    override def text(instant: Instant): String = DateTimeFormatter.ISO_INSTANT.format(floor(instant))
  }

  /** `2026-01-01T00:00:00.000Z` */
  case object IsoMillis extends InstantFormat("iso-millis", ChronoUnit.MILLIS) {
    override def text(instant: Instant): String =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'", Locale.ROOT).withZone(ZoneOffset.UTC).format(instant)
  }

  case object EpochSeconds extends InstantFormat("epoch-seconds", ChronoUnit.SECONDS) {
    override def text(instant: Instant): String = instant.getEpochSecond.toString
  }

  case object EpochMillis extends InstantFormat("epoch-millis", ChronoUnit.MILLIS) {
    override def text(instant: Instant): String = instant.toEpochMilli.toString
  }

  val all: Seq[InstantFormat] = Seq(Iso, IsoMillis, EpochSeconds, EpochMillis)
}
