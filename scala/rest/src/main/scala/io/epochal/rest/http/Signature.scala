package io.epochal.rest.http

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.DriverAccess

/** A signature of each request by a user's class. */
object Signature extends AuthScheme {

  val SignerClass = option("signerClass", OptionType.string, sample = Some("com.example.HmacSigner"))(
    "Request signer: an io.epochal.kit.RequestSigner on the class path of driver and executors.")
  val Settings = option("signer.*", OptionType.string, secret = true)("Settings for signerClass.")

  /** Instantiates a signer once, so that errors appear before the query starts. */
  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    (values.get(SignerClass), values.family(Settings)) match {
      case (None, options) => values.together(options.nonEmpty, Settings.name, SignerClass.name).map(_ => None)
      case (Some(name), options) =>
        val settings = SignerSettings(name, options)
        try {
          DriverAccess.current.classNamed(SignerClass.reference, name)
          new Signer(settings)
          Right(Some(settings))
        } catch { case invalid: EpochalException => Left(invalid) }
    }
}
