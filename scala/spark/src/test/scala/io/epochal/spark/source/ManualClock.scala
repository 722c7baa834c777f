package io.epochal.spark.source

import java.time.{Clock, Instant, ZoneId, ZoneOffset}
import java.util.concurrent.atomic.AtomicReference

/** A clock that moves only by hand. */
final class ManualClock(begin: Instant) extends Clock {
  private val now = new AtomicReference(begin)

  def advance(seconds: Long): Unit = { now.updateAndGet(_.plusSeconds(seconds)); () }

  override def instant(): Instant = now.get
  override def getZone: ZoneId = ZoneOffset.UTC
  override def withZone(zone: ZoneId): Clock = this
}
