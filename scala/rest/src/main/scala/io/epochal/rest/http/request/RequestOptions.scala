package io.epochal.rest.http.request

import java.time.Duration

import io.epochal.core.option.{OptionSpec, OptionType}

/** What every request has, whoever makes it. */
object RequestOptions {

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

  /** What a request is made of. */
  val request: Seq[OptionSpec[_]] = Seq(Headers, Params)
}
