package io.epochal.spark.http

import java.time.Duration

import io.epochal.core.option.{OptionSpec, OptionType, OptionValues, RetryOptions}

/** The options of everything that speaks HTTP. */
object HttpOptions {

  val Headers: OptionSpec[String] =
    OptionSpec(
      "headers.*",
      OptionType.string,
      "Headers of every request: headers.Authorization and so on.",
      secret = true)
  val Params: OptionSpec[String] = OptionSpec(
    "params.*",
    OptionType.string,
    "Parameters of every request, encoded and added to the URL's query.",
    secret = true)
  val Timeout: OptionSpec[Duration] = OptionSpec(
    "timeout",
    OptionType.duration,
    "How long to wait for a connection, and for the server's next bytes.",
    Some(Duration.ofSeconds(30)))
  val MaxResponseBytes: OptionSpec[Long] = OptionSpec(
    "maxResponseBytes",
    OptionType.bytes,
    "Largest answer that is read, after decompression; up to 2g.",
    Some(64L << 20))

  /** What a request is made of. */
  val request: Seq[OptionSpec[_]] = Seq(Headers, Params)

  /** How requests are made. */
  val all: Seq[OptionSpec[_]] = Seq(Timeout, MaxResponseBytes) ++ RetryOptions.all

  def settings(values: OptionValues, endpoint: Endpoint): HttpSettings =
    HttpSettings(
      endpoint,
      values(Timeout),
      RetryOptions.settings(values),
      math.min(values(MaxResponseBytes), BodyBuffer.MaxBytes))
}
