package io.epochal.kit.metric

import java.time.Duration

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
    val due = now - last >= LogPace.Every.toNanos
    if (due) last = now
    due
  }
}

private object LogPace {
  private val Every = Duration.ofMinutes(1)
}
