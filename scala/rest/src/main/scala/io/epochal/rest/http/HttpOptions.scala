package io.epochal.rest.http

import java.time.Duration
import java.util.UUID

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.kit.record.Body
import io.epochal.rest.http.auth.AuthSchemes
import io.epochal.rest.http.request.{Endpoint, HttpBudget, HttpStatuses, RequestLimits, RequestOptions}
import io.epochal.rest.http.transport.TransportOptions

/** How requests are made: the options of everything that speaks HTTP. */
object HttpOptions {

  val MaxResponseBytes: OptionSpec[Long] = OptionSpec(
    "maxResponseBytes",
    OptionType.bytes,
    "Largest response that is read, after decompression; up to 2g.",
    Some(64L << 20))
  val RequestDeadline: OptionSpec[Duration] = OptionSpec(
    "requestDeadline",
    OptionType.duration,
    "How long a request may take in all, whatever comes of it in the meantime; it is retried then. " +
      "Unset: 10m, or a second for each MiB of maxResponseBytes where that is longer.")
  val MinBytesPerSecond: OptionSpec[Long] = OptionSpec(
    "minBytesPerSecond",
    OptionType.bytes,
    "Bytes of a response's body that must come each second, on average over 10 seconds; a slower request is " +
      "broken off and retried. Unset: no minimum.",
    sample = Some("1k"))
  val RequestsPerSecond: OptionSpec[Double] = OptionSpec(
    "requestsPerSecond",
    OptionType.rate,
    "Maximum requests of the whole query per second, evenly spread. Unset: no limit.")
  val MaxConcurrency: OptionSpec[Int] = OptionSpec(
    "maxConcurrency",
    OptionType.int(1),
    "Maximum concurrent requests of the whole query. Unset: one for each task.")
  val MaxThrottleWait: OptionSpec[Duration] = OptionSpec(
    "maxThrottleWait",
    OptionType.duration,
    "Longest pause that the server may ask for, by Retry-After or by its rate limit's headers.",
    Some(Duration.ofMinutes(1)))
  val RetryStatuses: OptionSpec[HttpStatuses] = OptionSpec(
    "retry.statuses",
    HttpStatuses.option,
    "Statuses after which a request is repeated. All others from 300 on, except ignoreStatuses, fail the query.",
    Some(HttpStatuses.transient))
  val IgnoreStatuses: OptionSpec[HttpStatuses] = OptionSpec(
    "ignoreStatuses",
    HttpStatuses.option,
    "Statuses that count as an empty response, such as 404 from an API that has no page after the last.",
    Some(HttpStatuses.none))

  /** How requests are made. */
  val all: Seq[OptionSpec[_]] = Seq(
    RequestOptions.Timeout,
    RequestDeadline,
    MinBytesPerSecond,
    MaxResponseBytes,
    RequestsPerSecond,
    MaxConcurrency,
    MaxThrottleWait,
    RetryStatuses,
    IgnoreStatuses) ++ RetryOptions.all ++ AuthSchemes.options ++ TransportOptions.all

  /** @return
    *   what of the options cannot be, or the settings
    */
  def settings(values: OptionValues, endpoint: Endpoint): Either[EpochalException, HttpSettings] =
    for {
      auth <- AuthSchemes.read(values, endpoint)
      transport <- TransportOptions.read(values)
      maxBytes = math.min(values(MaxResponseBytes), Body.MaxBytes)
    } yield HttpSettings(
      endpoint.withCredential(auth.parameter),
      transport,
      RetryOptions.settings(values),
      maxBytes,
      RequestLimits.of(values.get(RequestDeadline), values.get(MinBytesPerSecond), maxBytes),
      HttpPoliteness(
        UUID.randomUUID().toString,
        HttpBudget(values.get(RequestsPerSecond), values.get(MaxConcurrency)),
        values(MaxThrottleWait),
        values(RetryStatuses),
        values(IgnoreStatuses)),
      auth
    )
}
