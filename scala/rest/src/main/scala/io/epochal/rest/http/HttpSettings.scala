package io.epochal.rest.http

import java.security.SecureRandom
import java.time.Duration
import java.util.Locale
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import scala.util.Try

import io.epochal.core.error.Redaction
import io.epochal.core.option.OptionType
import io.epochal.core.retry.RetrySettings
import io.epochal.kit.access.Secret
import io.epochal.kit.tls.{CertifiedKey, Pem, PemCertificate}

/** The HTTP settings of a query. Serialized to the executors; prints without secrets.
  *
  * @param transport
  *   connection settings
  * @param maxResponseBytes
  *   maximum response size after decompression
  * @param query
  *   identifies the DataFrame whose requests share the budget within a JVM
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
    query: String,
    budget: HttpBudget,
    maxThrottleWait: Duration,
    retried: HttpStatuses,
    ignored: HttpStatuses,
    auth: Seq[AuthSettings],
    hidden: Seq[Secret] = Nil,
    byLines: Boolean = false) {

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
