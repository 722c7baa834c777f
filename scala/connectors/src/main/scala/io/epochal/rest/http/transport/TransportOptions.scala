package io.epochal.rest.http.transport

import java.net.URI

import scala.util.Try

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{DriverFile, SecretOption}
import io.epochal.rest.http.request.RequestOptions

/** The options of connections. Files are read on the driver, when the DataFrame is built. */
object TransportOptions {

  val CaFile: OptionSpec[String] = OptionSpec(
    "tls.caFile",
    OptionType.string,
    "File on the driver with the certificate authorities to trust, in PEM. Unset: those of the JVM.",
    sample = Some("/etc/ssl/own-ca.pem"))
  val CertFile: OptionSpec[String] = OptionSpec(
    "tls.certFile",
    OptionType.string,
    "File on the driver with the client's certificate and those that lead to its authority, in PEM.",
    sample = Some("/run/secrets/client.pem"))
  val KeyFile: OptionSpec[String] = OptionSpec(
    "tls.keyFile",
    OptionType.string,
    "File on the driver with the client's private key, PKCS#8 in PEM. Unset: it stands in tls.certFile.",
    sample = Some("/run/secrets/client-key.pem"))
  val KeyPassword: SecretOption = SecretOption("tls.keyPassword", "Password of an encrypted private key")
  val ProxyUrl: OptionSpec[String] = OptionSpec(
    "proxy",
    OptionType.string,
    "HTTP proxy, as http://host:port. Unset: none, whatever the environment says.",
    sample = Some("http://proxy.example.com:3128"))
  val ProxyUser: OptionSpec[String] =
    OptionSpec("proxyUser", OptionType.string, "Name for the proxy's basic authorization.", secret = true)
  val ProxyPassword: SecretOption = SecretOption("proxyPassword", "Password for the proxy's basic authorization")

  val all: Seq[OptionSpec[_]] =
    Seq(CaFile, CertFile, KeyFile) ++ KeyPassword.all ++ Seq(ProxyUrl, ProxyUser) ++ ProxyPassword.all

  def read(values: OptionValues): Either[EpochalException, HttpTransport] =
    for {
      _ <- together(values, KeyFile.name, values.isSet(KeyFile), CertFile)
      _ <- together(values, KeyPassword.setName(values), KeyPassword.isSet(values), CertFile)
      _ <- together(values, ProxyUser.name, values.isSet(ProxyUser), ProxyUrl)
      _ <- together(values, ProxyPassword.setName(values), ProxyPassword.isSet(values), ProxyUser)
      tls <- tls(values)
      proxy <- proxy(values)
    } yield HttpTransport(values(RequestOptions.Timeout), tls, proxy)

  private def tls(values: OptionValues): Either[EpochalException, Option[Tls]] =
    for {
      ca <- file(values, CaFile)
      chain <- file(values, CertFile)
      key <- file(values, KeyFile)
      password <- secret(values, KeyPassword)
      authorities <- checked(values, CaFile, Option.when(ca.isDefined)(Tls(ca, None)))
      keyOption = if (key.isDefined) KeyFile else CertFile
      client <- checked(
        values,
        keyOption,
        chain.map(pem => Tls(None, Some(ClientCertificate(pem, key.getOrElse(pem), password)))))
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

  private def file(values: OptionValues, spec: OptionSpec[String]): Either[EpochalException, Option[String]] =
    values.get(spec) match {
      case None => Right(None)
      case Some(path) =>
        try
          DriverFile.read(spec.name, path, DriverFile.CertificateBytes).map(Some(_)).left.map(invalid(values, spec, _))
        catch { case refused: EpochalException => Left(refused) }
    }

  private def secret(values: OptionValues, option: SecretOption): Either[EpochalException, Option[String]] =
    option.of(values).flatMap { found =>
      try Right(found.map(_.read()))
      catch { case unreadable: EpochalException => Left(unreadable) }
    }

  private def proxy(values: OptionValues): Either[EpochalException, Option[Proxy]] =
    secret(values, ProxyPassword).flatMap { password =>
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

  private def together(
      values: OptionValues,
      option: String,
      isSet: Boolean,
      needed: OptionSpec[String]): Either[EpochalException, Unit] =
    Either.cond(
      !isSet || values.isSet(needed),
      (),
      values.conflict(s"$option without ${needed.name}", s"Set ${needed.name} too, or leave $option out."))

  private def invalid(values: OptionValues, spec: OptionSpec[String], reason: String): EpochalException =
    Conditions.TlsInvalid("option" -> spec.name, "path" -> values.get(spec).getOrElse(""), "reason" -> reason)
}
