package io.epochal.kit.source

import java.time.{Clock, Duration, Instant, ZoneId, ZoneOffset}
import java.util.concurrent.atomic.AtomicReference

/** A clock that only the test moves. */
final class ManualClock(begin: Instant) extends Clock {
  private val now = new AtomicReference(begin)

  def set(to: Instant): Unit = now.set(to)

  def advance(seconds: Long): Unit = advance(Duration.ofSeconds(seconds))

  def advance(by: Duration): Unit = { now.updateAndGet(_.plus(by)); () }

  override def instant(): Instant = now.get
  override def getZone: ZoneId = ZoneOffset.UTC
  override def withZone(zone: ZoneId): Clock = this
}
