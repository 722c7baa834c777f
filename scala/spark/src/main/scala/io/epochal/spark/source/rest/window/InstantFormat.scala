package io.epochal.spark.source.rest.window

import java.time.format.DateTimeFormatter
import java.time.{Duration, Instant, ZoneOffset}

/** How a moment is written in a request.
  *
  * @param name
  *   as in the option
  * @param unit
  *   the smallest difference that it can tell
  */
sealed abstract class InstantFormat(val name: String, val unit: Duration) extends Serializable {
  def text(instant: Instant): String

  /** Whether it can be told from its neighbours. */
  def tells(instant: Instant): Boolean = floor(instant) == instant

  /** The last moment that can be told, and is not later. */
  def floor(instant: Instant): Instant = instant.truncatedTo(if (unit.toMillis == 1) Millis else Seconds)

  private def Millis = java.time.temporal.ChronoUnit.MILLIS
  private def Seconds = java.time.temporal.ChronoUnit.SECONDS
}

object InstantFormat {
  private val Second = Duration.ofSeconds(1)
  private val Millisecond = Duration.ofMillis(1)

  /** `2026-01-01T00:00:00Z` */
  case object Iso extends InstantFormat("iso", Second) {
    override def text(instant: Instant): String = DateTimeFormatter.ISO_INSTANT.format(floor(instant))
  }

  /** `2026-01-01T00:00:00.000Z` */
  case object IsoMillis extends InstantFormat("iso-millis", Millisecond) {
    override def text(instant: Instant): String =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC).format(instant)
  }

  case object EpochSeconds extends InstantFormat("epoch-seconds", Second) {
    override def text(instant: Instant): String = instant.getEpochSecond.toString
  }

  case object EpochMillis extends InstantFormat("epoch-millis", Millisecond) {
    override def text(instant: Instant): String = instant.toEpochMilli.toString
  }

  val all: Seq[InstantFormat] = Seq(Iso, IsoMillis, EpochSeconds, EpochMillis)
}
