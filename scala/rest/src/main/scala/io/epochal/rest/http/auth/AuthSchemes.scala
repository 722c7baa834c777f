package io.epochal.rest.http.auth

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionValues}
import io.epochal.kit.access.Secret
import io.epochal.rest.http.request.{CredentialAdvice, Endpoint, RequestOptions}

/** All authentication schemes. Add new ones here. */
object AuthSchemes {

  private val all: Seq[AuthScheme] = Seq(BearerToken, BasicLogin, ApiKey, OAuth, Signature)

  val options: Seq[OptionSpec[_]] = all.flatMap(_.all)

  /** The first option of each scheme, for errors of queries without credentials. */
  val names: Seq[String] = all.map(_.all.head.reference)

  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, HttpAuth] =
    all
      .foldLeft[Either[EpochalException, Seq[AuthSettings]]](Right(Nil)) { (found, scheme) =>
        found.flatMap(before => scheme.read(values, endpoint).map(before ++ _))
      }
      .flatMap(found => oneAuthorization(values, endpoint, found).map(_ => HttpAuth(found)))

  private def oneAuthorization(
      values: OptionValues,
      endpoint: Endpoint,
      found: Seq[AuthSettings]): Either[EpochalException, Unit] = {
    val all = found.filter(_.isAuthorization).map(_.reference) ++
      Option.when(endpoint.hasUserInfo)("user info in {option:url}") ++
      values.family(RequestOptions.Headers).keys.find(_.equalsIgnoreCase("Authorization")).map(name => s"headers.$name")
    values.consistent(all.size <= 1)(all.mkString(", "), "A request has one authorization: keep one of them.")
  }
}

/** The authentication of a query's requests. */
final case class HttpAuth(schemes: Seq[AuthSettings]) {

  /** Values that are masked in all texts. */
  def secrets: Seq[Secret] = schemes.flatMap(_.secrets)

  /** Name of the query parameter with the credential, if any. */
  def parameter: Option[String] = schemes.flatMap(_.parameter).headOption

  /** The options to check when the server rejects a request. */
  def options(endpoint: Endpoint): CredentialAdvice = {
    val ofUrl = Option.when(endpoint.hasUserInfo)("the user info in {option:url}")
    val ofHeaders = endpoint.headers.collect {
      case (name, _) if name.equalsIgnoreCase("Authorization") && !endpoint.hasUserInfo => s"headers.$name"
    }
    CredentialAdvice(schemes.map(_.reference) ++ ofUrl ++ ofHeaders, AuthSchemes.names :+ "headers.Authorization")
  }
}

object HttpAuth {
  val none: HttpAuth = HttpAuth(Nil)
}
