package io.epochal.kit.sink.flush

import java.time.Duration

/** When a task stores its rows.
  *
  * @param interval
  *   maximum time from one transaction of a task to the next
  * @param rows
  *   stores as soon as there are this many
  */
final case class FlushSettings(interval: Duration, rows: Int)
