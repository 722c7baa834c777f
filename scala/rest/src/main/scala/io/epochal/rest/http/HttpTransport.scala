package io.epochal.rest.http

import java.net.URI
import java.security.SecureRandom
import java.time.Duration
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import scala.util.Try

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{DriverFile, SecretOption}
import io.epochal.kit.tls.CertificateOptions.{file, invalid}
import io.epochal.kit.tls.{CertificateOptions, CertifiedKey, Pem, PemException}
import io.epochal.rest.http.request.OptionList

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
final case class Tls(authorities: Option[String], client: Option[ClientCertificate]) {

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

/** @param chain
  *   the client's certificate first
  * @param key
  *   PKCS#8
  * @param password
  *   of an encrypted key
  */
final case class ClientCertificate(chain: String, key: String, password: Option[String]) {
  override def toString: String = s"ClientCertificate(${Redaction.Mask})"
}

/** The options of connections. Files are read on the driver when the DataFrame is built. */
private[rest] object TransportOptions extends OptionList {

  val CaFile: OptionSpec[String] = option("tls.caFile", OptionType.string, sample = Some("/etc/ssl/own-ca.pem"))(
    "PEM file on the driver with the certificate authorities to trust. Unset: the JVM's.")
  private val own = new CertificateOptions("client", "client")
  own.all.foreach(also(_))
  val ProxyUrl: OptionSpec[String] = option("proxy", OptionType.string, sample = Some("http://proxy.example.com:3128"))(
    "HTTP proxy, as http://host:port. Unset: none; the environment is ignored.")
  val ProxyUser: OptionSpec[String] =
    option("proxyUser", OptionType.string, secret = true)("User name for the proxy.")
  val ProxyPassword: SecretOption = secret("proxyPassword", "Password for the proxy")

  def read(values: OptionValues): Either[EpochalException, HttpTransport] =
    for {
      _ <- values.together(values.isSet(ProxyUser) && !values.isSet(ProxyUrl), ProxyUser.name, ProxyUrl.name)
      _ <- values.together(
        ProxyPassword.isSet(values) && !values.isSet(ProxyUser),
        ProxyPassword.setName(values),
        ProxyUser.name)
      tls <- tls(values)
      proxy <- proxy(values)
    } yield HttpTransport(values(HttpOptions.Timeout), tls, proxy)

  private def tls(values: OptionValues): Either[EpochalException, Option[Tls]] =
    for {
      ca <- file(values, CaFile)(DriverFile.read)
      certificate <- own.read(values)
      authorities <- checked(values, CaFile, Option.when(ca.isDefined)(Tls(ca, None)))
      client <- checked(
        values,
        own.keySpec(values),
        certificate.map(pem => Tls(None, Some(ClientCertificate(pem.chain, pem.key, pem.password)))))
    } yield (authorities, client) match {
      case (None, None) => None
      case _            => Some(Tls(ca, client.flatMap(_.client)))
    }

  /** Checks that the texts make an SSL context. */
  private def checked(
      values: OptionValues,
      spec: OptionSpec[String],
      tls: Option[Tls]): Either[EpochalException, Option[Tls]] =
    try {
      tls.foreach(_.context())
      Right(tls)
    } catch { case e: PemException => Left(invalid(values, spec, e.getMessage)) }

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
