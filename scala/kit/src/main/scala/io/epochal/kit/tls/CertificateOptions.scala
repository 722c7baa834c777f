package io.epochal.kit.tls

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionList, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{DriverFile, SecretOption}

/** The options for a certificate with its key, in PEM, with which one end of TLS connections identifies itself. Files are read
  * on the driver.
  *
  * @param owner
  *   whose certificate it is, in the documentation
  * @param file
  *   the file name in examples
  */
final private[epochal] class CertificateOptions(owner: String, file: String) extends OptionList {

  val CertFile = option("tls.certFile", OptionType.string, sample = Some(s"/run/secrets/$file.pem"))(
    s"PEM file on the driver: the $owner's certificate and its chain.")
  val KeyFile = option("tls.keyFile", OptionType.string, sample = Some(s"/run/secrets/$file-key.pem"))(
    s"PEM file on the driver: the $owner's private key (PKCS#8). Unset: in tls.certFile.")
  val KeyPassword: SecretOption = SecretOption("tls.keyPassword", "Password of the private key")

  override def all: Seq[OptionSpec[_]] = super.all ++ KeyPassword.all

  /** The texts of certificate and key, not yet parsed; None without a certificate.
    *
    * @return
    *   Left: one is set without the other, or cannot be read
    */
  def read(values: OptionValues): Either[EpochalException, Option[PemCertificate]] =
    for {
      _ <- values.together(values.isSet(KeyFile) && !values.isSet(CertFile), KeyFile.name, CertFile.name)
      _ <- KeyPassword.requires(values, CertFile)
      chain <- CertificateOptions.file(values, CertFile)(DriverFile.read)
      key <- CertificateOptions.file(values, KeyFile)(DriverFile.read)
      password <- KeyPassword.read(values)
    } yield chain.map(text => PemCertificate(text, key.getOrElse(text), password))

  /** The option whose file holds the key. */
  def keySpec(values: OptionValues): OptionSpec[String] = if (values.isSet(KeyFile)) KeyFile else CertFile
}

/** Prints without its key. */
final private[epochal] case class PemCertificate(chain: String, key: String, password: Option[String]) {
  override def toString: String = "PemCertificate"
}

private[epochal] object CertificateOptions {

  /** The content of the file that an option names.
    *
    * @param read
    *   one of [[DriverFile]]'s
    */
  def file[A](values: OptionValues, spec: OptionSpec[String])(
      read: (String, String, Int) => Either[String, A]): Either[EpochalException, Option[A]] =
    values.get(spec) match {
      case None => Right(None)
      case Some(path) =>
        try read(spec.name, path, DriverFile.CertificateBytes).map(Some(_)).left.map(invalid(values, spec, _))
        catch { case error: EpochalException => Left(error) }
    }

  /** TLS_INVALID, about the file that an option names. */
  def invalid(values: OptionValues, spec: OptionSpec[String], reason: String): EpochalException =
    Conditions.TlsInvalid("option" -> spec.name, "path" -> values.get(spec).getOrElse(""), "reason" -> reason)
}
