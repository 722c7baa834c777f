package io.epochal.jdbc.option

import java.time.Duration

import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.sink.flush.FlushSettings

/** When a continuous or real-time query stores rows. */
object FlushOptions {

  val Interval: OptionSpec[Duration] = OptionSpec(
    "flushInterval",
    OptionType.duration,
    "Continuous and real-time triggers: the shortest time from the beginning of one transaction of a task to that of its next. A row that comes later is stored at once, those that come sooner gather. Shorter is sooner, and more transactions.",
    Some(Duration.ofMillis(10)))
  val Rows: OptionSpec[Int] = OptionSpec(
    "flushRows",
    OptionType.int(1, 1000000),
    "Continuous and real-time triggers: rows at which a task stores what it has gathered, before flushInterval is over.",
    Some(10000))

  val all: Seq[OptionSpec[_]] = Seq(Interval, Rows)

  def read(values: OptionValues): FlushSettings = FlushSettings(values(Interval), values(Rows))
}
