package io.epochal.rest.http

import io.epochal.core.error.{EpochalException, Reference}
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption, SecretOptionList}

/** An authentication scheme: its options, their checks and its settings. Registered in the companion object. */
abstract private[rest] class AuthScheme extends SecretOptionList {

  /** Reads and checks the scheme's options and secrets before the query starts.
    *
    * @param endpoint
    *   its headers and parameters must not be set a second time
    * @return
    *   None if the options do not select this scheme
    */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]]

  /** The settings, if the option that selects the scheme is set; without it the other ones are rejected. */
  final protected def select(values: OptionValues, first: OptionSpec[_], isSet: Boolean)(
      settings: => Either[EpochalException, AuthSettings]): Either[EpochalException, Option[AuthSettings]] = {
    def others = all.flatMap { spec =>
      if (spec.name.endsWith("*")) values.family(spec).keys.map(key => Reference.option(spec.prefix + key))
      else Option.when(values.isSet(spec))(spec.reference)
    }
    if (isSet) settings.map(Some(_))
    else
      values
        .consistent(others.isEmpty)(
          s"${others.mkString(", ")} without ${first.reference}",
          s"Set ${first.reference} too, or leave ${others.mkString(", ")} out.")
        .map(_ => None)
  }

  final protected def select(values: OptionValues, first: OptionSpec[_])(
      settings: => Either[EpochalException, AuthSettings]): Either[EpochalException, Option[AuthSettings]] =
    select(values, first, values.isSet(first))(settings)

  final protected def requireOption[A](
      values: OptionValues,
      first: OptionSpec[_],
      spec: OptionSpec[A]): Either[EpochalException, A] =
    values.get(spec).toRight(missing(values, first, spec))

  /** A readable secret that the scheme needs. */
  final protected def requireOption(
      values: OptionValues,
      first: OptionSpec[_],
      secret: SecretOption): Either[EpochalException, Secret] =
    for {
      readSecret <- secret.of(values)
      one <- readSecret.toRight(missing(values, first, secret.text))
      _ <- one.readable
    } yield one

  final protected def missing(values: OptionValues, first: OptionSpec[_], spec: OptionSpec[_]): EpochalException =
    OptionGroup.missing(s"${values.group.format} with ${first.reference}", spec, spec.doc)
}

private[rest] object AuthScheme {

  /** Add new schemes here. */
  private val schemes: Seq[AuthScheme] = Seq(BearerToken, BasicLogin, Digest, ApiKey, OAuth, AwsSigV4, Hmac, Signature)

  val options: Seq[OptionSpec[_]] = schemes.flatMap(_.all)

  /** The first option of each scheme, for errors of queries without credentials. */
  def names: Seq[String] = schemes.map(_.all.head.reference)

  /** The settings of all schemes that the options select. */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Seq[AuthSettings]] =
    for {
      settings <- schemes.foldLeft[Either[EpochalException, Seq[AuthSettings]]](Right(Nil))((settings, scheme) =>
        settings.flatMap(before => scheme.read(values, endpoint).map(before ++ _)))
      all = settings.filter(_.isAuthorization).map(_.reference) ++
        Option.when(endpoint.hasUserInfo)("user info in {option:url}") ++
        values
          .family(RequestOptions.Headers)
          .keys
          .find(_.equalsIgnoreCase("Authorization"))
          .map(name => s"headers.$name")
      _ <- values.consistent(all.size <= 1)(all.mkString(", "), "A request has one authorization: keep one of them.")
    } yield settings

  /** Rejects a secret that cannot be read, or that is not a valid header value.
    *
    * @param option
    *   its name
    */
  private[http] def sendable(format: String, option: String, secret: Secret): Either[EpochalException, Unit] =
    secret.readable.flatMap(HttpHeaders.value(format, option, _))
}
