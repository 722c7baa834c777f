package io.epochal.core.option

import java.time.Duration

import io.epochal.core.retry.RetrySettings

/** The retry options of every format that connects to a server. */
object RetryOptions extends OptionList {

  val MaxAttempts = option("retry.maxAttempts", OptionType.int(1), Some(8))("Maximum attempts, the first included.")
  val InitialDelay = option("retry.initialDelay", OptionType.duration, Some(Duration.ofMillis(200)))(
    "Upper bound of the first delay, which doubles each time; delays are random below it.")
  val MaxDelay = option("retry.maxDelay", OptionType.duration, Some(Duration.ofSeconds(20)))("Maximum delay.")
  val Deadline =
    option("retry.deadline", OptionType.duration, Some(Duration.ofMinutes(2)))("Maximum duration of all attempts.")

  def settings(values: OptionValues): RetrySettings =
    RetrySettings(values(MaxAttempts), values(InitialDelay), values(MaxDelay), values(Deadline))
}
