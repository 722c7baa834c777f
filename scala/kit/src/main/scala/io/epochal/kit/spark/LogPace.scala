package io.epochal.kit.spark

import java.util.concurrent.TimeUnit

/** Limits a log line to once a minute; the first is due a minute after the start.
  *
  * @param nanos
  *   a clock
  */
final private[kit] class LogPace(nanos: () => Long = () => System.nanoTime()) {
  private var last = nanos()

  /** Whether a minute has passed since the last line. */
  def isDue(): Boolean = synchronized {
    val now = nanos()
    val due = now - last >= TimeUnit.MINUTES.toNanos(1)
    if (due) last = now
    due
  }
}
