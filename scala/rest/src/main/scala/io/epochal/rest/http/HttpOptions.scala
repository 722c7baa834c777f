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

/** The HTTP settings of a query. Serialized to the executors; prints without secrets.
  *
  * @param transport
  *   connection settings
  * @param maxResponseBytes
  *   maximum response size after decompression
  * @param politeness
  *   the request budget, and which statuses are retried or ignored
  * @param auth
  *   authentication
  * @param hidden
  *   further values that are masked in all texts
  * @param byLines
  *   whether successful bodies consist of lines: if only the end of the connection ends a body, its last line must have
  *   a line break
  * @param limits
  *   deadline and minimum rate of a request
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

  /** Masks secrets in a server's text. */
  def masked(text: String, more: Seq[String] = Nil): String =
    (endpoint.secrets ++ (auth.secrets ++ hidden).flatMap(secret => Try(secret.read()).toOption) ++ more)
      .filter(_.length >= HttpSettings.ShortestSecret)
      .sortBy(-_.length)
      .foldLeft(text)(_.replace(_, Redaction.Mask))
}

object HttpSettings {

  /** Shorter values (true, 30, en) are usually settings that occur in texts by chance; masking them would make texts
    * unreadable.
    */
  private[epochal] val ShortestSecret = 5
}

/** @param query
  *   identifies the DataFrame whose requests share the budget within a JVM
  * @param maxThrottleWait
  *   the longest pause that the server may demand
  * @param retried
  *   statuses that are retried
  * @param ignored
  *   statuses that count as an empty response
  */
final case class HttpPoliteness(
    query: String,
    budget: HttpBudget,
    maxThrottleWait: Duration,
    retried: HttpStatuses,
    ignored: HttpStatuses)

object HttpPoliteness {

  /** No budget, and the default statuses. */
  val none: HttpPoliteness =
    HttpPoliteness("", HttpBudget.unlimited, Duration.ofMinutes(1), HttpStatuses.transient, HttpStatuses.none)
}

/** Response statuses, by number or by class (`5xx`). */
final case class HttpStatuses(names: Seq[String]) {
  private val codes = names.flatMap(_.toIntOption).toSet
  private val hundreds = names.filter(_.endsWith("xx")).map(_.head.asDigit).toSet

  def contains(code: Int): Boolean = codes(code) || hundreds(code / 100)

  override def toString: String = if (names.isEmpty) HttpStatuses.NoneWord else names.mkString(",")
}

object HttpStatuses {
  val none: HttpStatuses = HttpStatuses(Nil)

  /** Statuses of transient failures. */
  val transient: HttpStatuses = HttpStatuses(Seq("408", "429", "5xx"))

  private val NoneWord = "none"
  private val Name = "[3-5](?:[0-9]{2}|xx)"

  /** `408,429,5xx`, or `none`. Success cannot be listed. */
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

/** The options of all requests, for every user of HTTP. */
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
    *   an error in the options, or the settings
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
