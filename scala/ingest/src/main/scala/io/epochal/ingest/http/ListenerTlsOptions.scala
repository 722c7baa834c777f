package io.epochal.ingest.http

import java.io.{ByteArrayInputStream, IOException}
import java.security.{GeneralSecurityException, KeyStore, SecureRandom}
import javax.net.ssl.{KeyManagerFactory, SSLContext}

import scala.jdk.CollectionConverters._

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{DriverFile, SecretOptionList}
import io.epochal.kit.tls.CertificateOptions.{file, invalid}
import io.epochal.kit.tls.{CertificateOptions, CertifiedKey, PemException}

/** Options for a listener's certificate, in PEM or PKCS#12. Files are read on the driver when the query starts. */
private[http] object ListenerTlsOptions extends SecretOptionList {

  private val own = new CertificateOptions("listener", "server")
  val StoreFile = option("tls.keyStoreFile", OptionType.string, sample = Some("/run/secrets/server.p12"))(
    "PKCS#12 file on the driver with the listener's key and certificates, instead of tls.certFile.")
  val StorePassword = secret("tls.keyStorePassword", "Password of tls.keyStoreFile and its key")

  override def all: Seq[OptionSpec[_]] = own.all ++ super.all

  /** @return
    *   None: no TLS
    */
  def read(values: OptionValues): Either[EpochalException, Option[SSLContext]] =
    for {
      _ <- values.exclusive("A listener has one certificate: keep one of them.")(own.CertFile, StoreFile)
      _ <- StorePassword.requires(values, StoreFile)
      certificate <- own.read(values)
      pem <- check(values, own.keySpec(values))(certificate.map(one =>
        CertifiedKey.fromPem(one.chain, one.key, one.password)))
      bytes <- file(values, StoreFile)(DriverFile.readBytes)
      password <- StorePassword.read(values)
      store <- check(values, StoreFile)(bytes.map(openStore(_, password.getOrElse("").toCharArray)))
    } yield pem.orElse(store).map { keys =>
      val context = SSLContext.getInstance("TLS")
      context.init(keys.getKeyManagers, null, new SecureRandom)
      context
    }

  private def openStore(bytes: Array[Byte], password: Array[Char]): KeyManagerFactory = {
    val store = KeyStore.getInstance("PKCS12")
    try store.load(new ByteArrayInputStream(bytes), password)
    catch { case _: IOException => throw new PemException("it is not PKCS#12, or tls.keyStorePassword is wrong") }
    if (!store.aliases.asScala.exists(store.isKeyEntry)) throw new PemException("it has no private key")
    CertifiedKey.managers(store, password)
  }

  private def check(values: OptionValues, spec: OptionSpec[String])(
      factory: => Option[KeyManagerFactory]): Either[EpochalException, Option[KeyManagerFactory]] =
    try Right(factory)
    catch {
      case e: PemException             => Left(invalid(values, spec, e.getMessage))
      case e: GeneralSecurityException => Left(invalid(values, spec, s"its key cannot be read (${e.getMessage})"))
    }
}
