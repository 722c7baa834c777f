package io.epochal.core.option

import java.time.Duration

import io.epochal.core.retry.RetrySettings

/** The options of everything that talks to a server. */
object RetryOptions {

  val MaxAttempts: OptionSpec[Int] =
    OptionSpec("retry.maxAttempts", OptionType.int(1), "Attempts in all, the first one included.", Some(8))
  val InitialDelay: OptionSpec[Duration] = OptionSpec(
    "retry.initialDelay",
    OptionType.duration,
    "Upper bound of the first delay; it doubles with every attempt. The delay itself is random, between 0 and the bound.",
    Some(Duration.ofMillis(200))
  )
  val MaxDelay: OptionSpec[Duration] =
    OptionSpec("retry.maxDelay", OptionType.duration, "Upper bound of any delay.", Some(Duration.ofSeconds(20)))
  val Deadline: OptionSpec[Duration] =
    OptionSpec("retry.deadline", OptionType.duration, "Time for all attempts together.", Some(Duration.ofMinutes(2)))

  val all: Seq[OptionSpec[_]] = Seq(MaxAttempts, InitialDelay, MaxDelay, Deadline)

  def settings(values: OptionValues): RetrySettings =
    RetrySettings(values(MaxAttempts), values(InitialDelay), values(MaxDelay), values(Deadline))
}
