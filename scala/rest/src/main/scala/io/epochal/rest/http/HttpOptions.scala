package io.epochal.rest.http

import java.net.URI
import java.security.SecureRandom
import java.time.Duration
import java.util.{Locale, UUID}
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import scala.util.Try

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.core.retry.RetrySettings
import io.epochal.kit.access.{DriverFile, Secret}
import io.epochal.kit.record.Body
import io.epochal.kit.tls.CertificateOptions.{file, invalid}
import io.epochal.kit.tls.{CertificateOptions, CertifiedKey, Pem, PemCertificate, PemException}

/** The options of all requests, for every user of HTTP. */
object HttpOptions extends OptionList {

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
private[rest] object TransportOptions extends OptionList {

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
      _ <- checked(values, CaFile, ca.map(_ => Tls(ca, None)))
      _ <- checked(values, own.keySpec(values), certificate.map(_ => Tls(None, certificate)))
    } yield Option.when(ca.isDefined || certificate.isDefined)(Tls(ca, certificate))

  /** Checks that the texts make an SSL context. */
  private def checked(
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

/** The HTTP settings of a query. Serialized to the executors; prints without secrets.
  *
  * @param transport
  *   connection settings
  * @param maxResponseBytes
  *   maximum response size after decompression
  * @param query
  *   identifies the DataFrame, or the `budgetName`, whose requests share the budget within a JVM
  * @param maxThrottleWait
  *   the longest pause that the server may demand
  * @param retried
  *   statuses that are retried
  * @param ignored
  *   statuses that count as an empty response
  * @param auth
  *   authentication
  * @param hidden
  *   further values that are masked in all texts
  * @param text
  *   how successful bodies are read; None: as bytes
  * @param mayLackBody
  *   whether a successful response with an empty body counts as one without records
  * @param rules
  *   how a successful response states an error
  * @param limits
  *   deadline and minimum rate of a request
  * @param patient
  *   whether the user has limited the attempts or their duration: the limits then hold for a stream's first request too
  */
final case class HttpSettings(
    endpoint: Endpoint,
    transport: HttpTransport,
    retry: RetrySettings,
    maxResponseBytes: Long,
    limits: RequestLimits,
    query: String,
    budget: HttpBudget,
    maxThrottleWait: Duration,
    retried: HttpStatuses,
    ignored: HttpStatuses,
    auth: Seq[AuthSettings],
    hidden: Seq[Secret] = Nil,
    text: Option[TextSettings] = None,
    mayLackBody: Boolean = false,
    patient: Boolean = false,
    rules: Option[BodyRules] = None) {

  /** Masks secrets in a server's text. */
  def masked(text: String, more: Seq[String] = Nil): String =
    (endpoint.secrets ++ (auth.flatMap(_.secrets) ++ hidden).flatMap(secret => Try(secret.read()).toOption) ++ more)
      .filter(_.length >= HttpSettings.ShortestSecret)
      .sortBy(-_.length)
      .foldLeft(text)(_.replace(_, Redaction.Mask))

  /** The options to check when the server rejects a request. */
  def credentials: CredentialAdvice = {
    val ofUrl = Option.when(endpoint.hasUserInfo)("the user info in {option:url}")
    val ofHeaders = endpoint.headers.collect {
      case (name, _) if name.equalsIgnoreCase("Authorization") && !endpoint.hasUserInfo => s"headers.$name"
    }
    CredentialAdvice(auth.map(_.reference) ++ ofUrl ++ ofHeaders, AuthScheme.names :+ "headers.Authorization")
  }
}

/** How text is read.
  *
  * @param byLines
  *   whether it consists of lines: if only the end of the connection ends a body, its last line must have a line break
  * @param encoding
  *   its charset; None: the one that its Content-Type declares, else UTF-8
  */
final case class TextSettings(byLines: Boolean, encoding: Option[String])

object HttpSettings {

  /** Shorter values (true, 30, en) are usually settings that occur in texts by chance; masking them would make texts
    * unreadable.
    */
  private[epochal] val ShortestSecret = 5
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

/** Connection settings. Queries with the same settings share connections within a JVM. Serialized to the executors;
  * prints without secrets.
  *
  * @param timeout
  *   for connecting, and for each read
  * @param tls
  *   None: the JVM's defaults
  */
final case class HttpTransport(timeout: Duration, tls: Option[Tls] = None, proxy: Option[Proxy] = None) {

  /** All settings, including secrets, as input of a fingerprint. */
  private[http] def identity: Seq[Option[String]] = {
    val client = tls.flatMap(_.client)
    val login = proxy.flatMap(_.login)
    Seq(
      Some(timeout.toString),
      tls.flatMap(_.authorities),
      client.map(_.chain),
      client.map(_.key),
      client.flatMap(_.password),
      proxy.map(_.host),
      proxy.map(_.port.toString),
      login.map(_._1),
      login.map(_._2)
    )
  }
}

/** An HTTP proxy (RFC 9110, section 7.7; CONNECT for https).
  *
  * @param login
  *   user and password for basic authentication
  */
final case class Proxy(host: String, port: Int, login: Option[(String, String)]) {
  override def toString: String = s"$host:$port${login.fold("")(_ => s" (${Redaction.Mask})")}"
}

/** Trusted authorities and the client certificate as PEM texts: executors do not have the files. Prints without them.
  *
  * @param authorities
  *   replace the JVM's
  */
final case class Tls(authorities: Option[String], client: Option[PemCertificate]) {

  /** @throws io.epochal.kit.tls.PemException
    *   if a text is invalid
    */
  def context(): SSLContext = {
    val context = SSLContext.getInstance("TLS")
    context.init(
      client.map(c => CertifiedKey.fromPem(c.chain, c.key, c.password).getKeyManagers).orNull,
      authorities.map(trustManagers(_).getTrustManagers).orNull,
      new SecureRandom)
    context
  }

  private def trustManagers(pem: String): TrustManagerFactory = {
    val store = CertifiedKey.emptyStore
    Pem.certificates(pem).zipWithIndex.foreach { case (ca, i) => store.setCertificateEntry(s"ca$i", ca) }
    val factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    factory.init(store)
    factory
  }

  override def toString: String = s"Tls(${Redaction.Mask})"
}
