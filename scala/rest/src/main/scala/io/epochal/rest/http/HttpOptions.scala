package io.epochal.rest.http

import java.time.Duration
import java.util.{Locale, UUID}

import scala.util.Try

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.core.retry.RetrySettings
import io.epochal.kit.access.Secret
import io.epochal.kit.record.Body
import io.epochal.rest.http.auth.{AuthSchemes, HttpAuth}
import io.epochal.rest.http.request.{Endpoint, OptionList, RequestLimits}

/** What all requests of a query have in common. Travels to the executors; prints without secrets.
  *
  * @param transport
  *   the settings of connections
  * @param maxResponseBytes
  *   the largest response that is read, after decompression
  * @param politeness
  *   the budget of requests, and the meaning of statuses
  * @param auth
  *   how requests authenticate themselves
  * @param hidden
  *   further values that are masked in all texts
  * @param byLines
  *   whether bodies of success are lines: where nothing but the end of the connection ends one, its last line must have its break
  * @param limits
  *   how long a request may take
  */
final case class HttpSettings(
    endpoint: Endpoint,
    transport: HttpTransport,
    retry: RetrySettings,
    maxResponseBytes: Long,
    limits: RequestLimits,
    politeness: HttpPoliteness = HttpPoliteness.none,
    auth: HttpAuth = HttpAuth.none,
    hidden: Seq[Secret] = Nil,
    byLines: Boolean = false) {

  /** A server's text without the secrets that it may repeat. */
  def masked(text: String, more: Seq[String] = Nil): String =
    (endpoint.secrets ++ (auth.secrets ++ hidden).flatMap(secret => Try(secret.read()).toOption) ++ more)
      .filter(_.length >= HttpSettings.ShortestSecret)
      .sortBy(-_.length)
      .foldLeft(text)(_.replace(_, Redaction.Mask))
}

object HttpSettings {

  /** Shorter values (true, 30, en) are settings, and come by chance; masking them would make texts unreadable. */
  private[epochal] val ShortestSecret = 5
}

/** @param query
  *   which requests share the budget within a JVM: those of one DataFrame
  * @param maxThrottleWait
  *   the longest pause that the server may ask for
  * @param retried
  *   statuses after which a request is made again
  * @param ignored
  *   statuses that count as a response without anything in it
  */
final case class HttpPoliteness(
    query: String,
    budget: HttpBudget,
    maxThrottleWait: Duration,
    retried: HttpStatuses,
    ignored: HttpStatuses)

object HttpPoliteness {

  /** No budget, and the usual statuses. */
  val none: HttpPoliteness =
    HttpPoliteness("", HttpBudget.unlimited, Duration.ofMinutes(1), HttpStatuses.transient, HttpStatuses.none)
}

/** Statuses of responses: some by their number, some by their class (`5xx`). */
final case class HttpStatuses(names: Seq[String]) {
  private val codes = names.flatMap(_.toIntOption).toSet
  private val hundreds = names.filter(_.endsWith("xx")).map(_.head.asDigit).toSet

  def contains(code: Int): Boolean = codes(code) || hundreds(code / 100)

  override def toString: String = if (names.isEmpty) HttpStatuses.NoneWord else names.mkString(",")
}

object HttpStatuses {
  val none: HttpStatuses = HttpStatuses(Nil)

  /** What can be over by the next attempt. */
  val transient: HttpStatuses = HttpStatuses(Seq("408", "429", "5xx"))

  private val NoneWord = "none"
  private val Name = "[3-5](?:[0-9]{2}|xx)"

  /** `408,429,5xx`, or `none`. Success is not among them. */
  val option: OptionType[HttpStatuses] = new OptionType[HttpStatuses](
    "statuses",
    "statuses from 300 on with commas between them, as numbers or as 3xx, 4xx and 5xx, or none",
    "404")(
    text =>
      text.trim.toLowerCase(Locale.ROOT) match {
        case NoneWord => Some(none)
        case list =>
          val names = list.split(",", -1).map(_.trim).toSeq
          Option.when(names.forall(_.matches(Name)))(HttpStatuses(names))
      },
    _.toString
  )
}

/** How requests are made: the options of everything that speaks HTTP. */
object HttpOptions extends OptionList {

  val Timeout: OptionSpec[Duration] =
    option("timeout", OptionType.duration, Some(Duration.ofSeconds(30)))("Timeout for connecting, and for each read.")
  val RequestDeadline: OptionSpec[Duration] = option("requestDeadline", OptionType.duration)(
    "Maximum duration of a request, which is then retried. Unset: 10m, or one second per MiB of maxResponseBytes if longer.")
  val MinBytesPerSecond: OptionSpec[Long] = option("minBytesPerSecond", OptionType.bytes, sample = Some("1k"))(
    "Minimum rate of a response over 10 seconds; slower requests are aborted and retried. Unset: none.")
  val MaxResponseBytes: OptionSpec[Long] = option("maxResponseBytes", OptionType.bytes, Some(64L << 20))(
    "Maximum response size after decompression; up to 2g.")
  val RequestsPerSecond: OptionSpec[Double] = option("requestsPerSecond", OptionType.rate)(
    "Maximum requests per second of the whole query, evenly spaced. Unset: unlimited.")
  val MaxConcurrency: OptionSpec[Int] =
    option("maxConcurrency", OptionType.int(1))("Maximum concurrent requests of the whole query. Unset: one per task.")
  val MaxThrottleWait: OptionSpec[Duration] =
    option("maxThrottleWait", OptionType.duration, Some(Duration.ofMinutes(1)))(
      "Maximum pause that the server can request by Retry-After or rate limit headers.")
  val RetryStatuses: OptionSpec[HttpStatuses] =
    option("retry.statuses", HttpStatuses.option, Some(HttpStatuses.transient))(
      "Statuses that are retried. Others from 300 on, except ignoreStatuses, fail the query.")
  val IgnoreStatuses: OptionSpec[HttpStatuses] = option("ignoreStatuses", HttpStatuses.option, Some(HttpStatuses.none))(
    "Statuses that count as an empty response, as 404 after the last page.")

  override def all: Seq[OptionSpec[_]] = super.all ++ RetryOptions.all ++ AuthSchemes.options ++ TransportOptions.all

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
