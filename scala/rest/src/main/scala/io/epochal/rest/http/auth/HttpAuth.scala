package io.epochal.rest.http.auth

import io.epochal.kit.access.Secret
import io.epochal.rest.http.request.{CredentialAdvice, Endpoint}

/** How the requests of a query say who asks. */
final case class HttpAuth(schemes: Seq[AuthSettings]) {

  /** What must be in no text. */
  def secrets: Seq[Secret] = schemes.flatMap(_.secrets)

  /** Name of the query parameter that says who asks, where there is one. */
  def parameter: Option[String] = schemes.flatMap(_.parameter).headOption

  /** The options to check when the server refuses. */
  def options(endpoint: Endpoint): CredentialAdvice = {
    val ofUrl = Option.when(endpoint.hasUserInfo)("the user info in url")
    val ofHeaders = endpoint.headers.collect {
      case (name, _) if name.equalsIgnoreCase("Authorization") && !endpoint.hasUserInfo => s"headers.$name"
    }
    CredentialAdvice(schemes.map(_.option) ++ ofUrl ++ ofHeaders, AuthSchemes.names :+ "headers.Authorization")
  }
}

object HttpAuth {
  val none: HttpAuth = HttpAuth(Nil)
}
