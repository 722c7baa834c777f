package io.epochal.core.option

import java.time.Duration

import io.epochal.core.retry.RetrySettings

/** The retry options of every format that connects to a server. */
object RetryOptions {

  val MaxAttempts: OptionSpec[Int] =
    OptionSpec("retry.maxAttempts", OptionType.int(1), "Maximum attempts, the first included.", Some(8))
  val InitialDelay: OptionSpec[Duration] = OptionSpec(
    "retry.initialDelay",
    OptionType.duration,
    "Upper bound of the first delay, which doubles each time; delays are random below it.",
    Some(Duration.ofMillis(200))
  )
  val MaxDelay: OptionSpec[Duration] =
    OptionSpec("retry.maxDelay", OptionType.duration, "Maximum delay.", Some(Duration.ofSeconds(20)))
  val Deadline: OptionSpec[Duration] =
    OptionSpec("retry.deadline", OptionType.duration, "Maximum duration of all attempts.", Some(Duration.ofMinutes(2)))

  val all: Seq[OptionSpec[_]] = Seq(MaxAttempts, InitialDelay, MaxDelay, Deadline)

  def settings(values: OptionValues): RetrySettings =
    RetrySettings(values(MaxAttempts), values(InitialDelay), values(MaxDelay), values(Deadline))
}
