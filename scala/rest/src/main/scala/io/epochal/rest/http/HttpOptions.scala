package io.epochal.rest.http

import java.net.URI
import java.time.Duration
import java.util.UUID

import scala.util.Try

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.kit.access.{DriverFile, SecretOptionList}
import io.epochal.kit.record.Body
import io.epochal.kit.tls.CertificateOptions.{file, invalid}
import io.epochal.kit.tls.{CertificateOptions, PemException}

/** The options of all requests, for every user of HTTP. */
object HttpOptions extends SecretOptionList {

  val Timeout =
    option("timeout", OptionType.duration, Some(Duration.ofSeconds(30)))("Timeout for connecting, and for each read.")
  val RequestDeadline = option("requestDeadline", OptionType.duration)(
    "Maximum duration of a request, which is then retried. Unset: 10m, or one second per MiB of maxResponseBytes if longer.")
  val MinBytesPerSecond = option("minBytesPerSecond", OptionType.bytes, sample = Some("1k"))(
    "Minimum rate of a response over 10 seconds; slower requests are aborted and retried. Unset: none.")
  val MaxResponseBytes = option("maxResponseBytes", OptionType.bytes, Some(64L << 20))(
    "Maximum response size after decompression; up to 2g.")
  val RequestsPerSecond = option("requestsPerSecond", OptionType.rate)(
    "Maximum requests per second of the whole query, evenly spaced. Unset: unlimited.")
  val MaxConcurrency =
    option("maxConcurrency", OptionType.int(1))("Maximum concurrent requests of the whole query. Unset: one per task.")
  val BudgetName = option("budgetName", OptionType.string, sample = Some("shop"))(
    "Name of a budget: in a JVM, the queries that set it share their limits and pauses for each server. Unset: every query has its own.")
  val MaxThrottleWait = option("maxThrottleWait", OptionType.duration, Some(Duration.ofMinutes(1)))(
    "Maximum pause that the server can request by Retry-After or rate limit headers.")
  val RetryStatuses = option("retry.statuses", HttpStatuses.option, Some(HttpStatuses.transient))(
    "Statuses that are retried. Others from 300 on, except ignoreStatuses, fail the query.")
  val IgnoreStatuses = option("ignoreStatuses", HttpStatuses.option, Some(HttpStatuses.none))(
    "Statuses that count as an empty response, as 404 after the last page.")

  override def all: Seq[OptionSpec[_]] = super.all ++ RetryOptions.all ++ AuthScheme.options ++ TransportOptions.all

  /** @return
    *   an error in the options, or the settings
    */
  def settings(values: OptionValues, endpoint: Endpoint): Either[EpochalException, HttpSettings] =
    for {
      auth <- AuthScheme.read(values, endpoint)
      transport <- TransportOptions.read(values)
      maxBytes = math.min(values(MaxResponseBytes), Body.MaxBytes)
    } yield HttpSettings(
      endpoint.withCredential(auth.flatMap(_.parameter).headOption),
      transport,
      RetryOptions.settings(values),
      maxBytes,
      RequestLimits.of(values.get(RequestDeadline), values.get(MinBytesPerSecond), maxBytes),
      values.get(BudgetName).fold(UUID.randomUUID().toString)(name => s"budgetName=$name"),
      HttpBudget(values.get(RequestsPerSecond), values.get(MaxConcurrency)),
      values(MaxThrottleWait),
      values(RetryStatuses),
      values(IgnoreStatuses),
      auth,
      patient = Seq(RetryOptions.MaxAttempts, RetryOptions.Deadline).exists(values.isSet(_))
    )
}

/** The options of connections. Files are read on the driver when the DataFrame is built. */
private[rest] object TransportOptions extends SecretOptionList {

  val CaFile = option("tls.caFile", OptionType.string, sample = Some("/etc/ssl/own-ca.pem"))(
    "PEM file on the driver with the certificate authorities to trust. Unset: the JVM's.")
  private val own = new CertificateOptions("client", "client")
  own.all.foreach(also(_))
  val ProxyUrl = option("proxy", OptionType.string, sample = Some("http://proxy.example.com:3128"))(
    "HTTP proxy, as http://host:port. Unset: none; the environment is ignored.")
  val ProxyUser = option("proxyUser", OptionType.string, secret = true)("User name for the proxy.")
  val ProxyPassword = secret("proxyPassword", "Password for the proxy")

  def read(values: OptionValues): Either[EpochalException, HttpTransport] =
    for {
      _ <- values.together(values.isSet(ProxyUser) && !values.isSet(ProxyUrl), ProxyUser.name, ProxyUrl.name)
      _ <- ProxyPassword.requires(values, ProxyUser)
      tls <- tls(values)
      proxy <- proxy(values)
    } yield HttpTransport(values(HttpOptions.Timeout), tls, proxy)

  private def tls(values: OptionValues): Either[EpochalException, Option[Tls]] =
    for {
      ca <- file(values, CaFile)(DriverFile.read)
      certificate <- own.read(values)
      _ <- checkPem(values, CaFile, ca.map(_ => Tls(ca, None)))
      _ <- checkPem(values, own.keySpec(values), certificate.map(_ => Tls(None, certificate)))
    } yield Option.when(ca.isDefined || certificate.isDefined)(Tls(ca, certificate))

  /** Checks that the texts make an SSL context. */
  private def checkPem(
      values: OptionValues,
      spec: OptionSpec[String],
      tls: Option[Tls]): Either[EpochalException, Unit] =
    try Right(tls.foreach(_.context()))
    catch { case e: PemException => Left(invalid(values, spec, e.getMessage)) }

  private def proxy(values: OptionValues): Either[EpochalException, Option[Proxy]] =
    ProxyPassword.read(values).flatMap { password =>
      values.get(ProxyUrl).fold[Either[EpochalException, Option[Proxy]]](Right(None)) { url =>
        Try(new URI(url.trim)).toOption
          .filter(uri => "http".equalsIgnoreCase(uri.getScheme) && uri.getHost != null && uri.getPort > 0)
          .filter(uri => uri.getUserInfo == null)
          .map(uri => Proxy(uri.getHost, uri.getPort, values.get(ProxyUser).map(_ -> password.getOrElse(""))))
          .toRight(values.group.invalid(
            ProxyUrl,
            Redaction.url(url),
            "http://host:port, with user and password in {option:proxyUser} and {option:proxyPassword}"))
          .map(Some(_))
      }
    }
}
