package io.epochal.ingest.intake

import java.time.{Clock, Instant, ZoneId, ZoneOffset}

/** The time of day when it was created, and from then on the time that has passed since: nobody sets it.
  *
  * @param nanos
  *   the time that passes
  */
final private[ingest] class SteadyClock(begin: Instant = Instant.now(), nanos: () => Long = () => System.nanoTime())
    extends Clock {
  private val first = nanos()

  override def instant(): Instant = begin.plusNanos(nanos() - first)
  override def getZone: ZoneId = ZoneOffset.UTC
  override def withZone(zone: ZoneId): Clock = this
}
