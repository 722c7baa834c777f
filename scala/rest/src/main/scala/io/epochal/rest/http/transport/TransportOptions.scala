package io.epochal.rest.http.transport

import java.net.URI

import scala.util.Try

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{DriverFile, SecretOption}
import io.epochal.kit.tls.CertificateOptions.{file, invalid}
import io.epochal.kit.tls.{CertificateOptions, PemException}
import io.epochal.rest.http.request.RequestOptions

/** The options of connections. Files are read on the driver, when the DataFrame is built. */
object TransportOptions {

  val CaFile: OptionSpec[String] = OptionSpec(
    "tls.caFile",
    OptionType.string,
    "File on the driver with the certificate authorities to trust, in PEM. Unset: those of the JVM.",
    sample = Some("/etc/ssl/own-ca.pem"))
  private val own = new CertificateOptions("client", "client")
  val ProxyUrl: OptionSpec[String] = OptionSpec(
    "proxy",
    OptionType.string,
    "HTTP proxy, as http://host:port. Unset: none, whatever the environment says.",
    sample = Some("http://proxy.example.com:3128"))
  val ProxyUser: OptionSpec[String] =
    OptionSpec("proxyUser", OptionType.string, "Name for the proxy's basic authorization.", secret = true)
  val ProxyPassword: SecretOption = SecretOption("proxyPassword", "Password for the proxy's basic authorization")

  val all: Seq[OptionSpec[_]] =
    Seq(CaFile) ++ own.all ++ Seq(ProxyUrl, ProxyUser) ++ ProxyPassword.all

  def read(values: OptionValues): Either[EpochalException, HttpTransport] =
    for {
      _ <- values.together(values.isSet(ProxyUser) && !values.isSet(ProxyUrl), ProxyUser.name, ProxyUrl.name)
      _ <- values.together(
        ProxyPassword.isSet(values) && !values.isSet(ProxyUser),
        ProxyPassword.setName(values),
        ProxyUser.name)
      tls <- tls(values)
      proxy <- proxy(values)
    } yield HttpTransport(values(RequestOptions.Timeout), tls, proxy)

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

  /** Tries whether a context can be made of it. */
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
            "http://host:port, with user and password in proxyUser and proxyPassword"))
          .map(Some(_))
      }
    }
}
