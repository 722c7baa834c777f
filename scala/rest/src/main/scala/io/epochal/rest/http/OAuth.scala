package io.epochal.rest.http

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionType, OptionValues}

/** RFC 6749: a bearer token from a token server, by client credentials or a refresh token. */
object OAuth extends AuthScheme {

  val TokenUrl = option("oauth.tokenUrl", OptionType.string, sample = Some("https://login.example.com/oauth/token"))(
    "OAuth 2 token endpoint. Tokens are renewed before they expire and after a 401.")
  val ClientId = option("oauth.clientId", OptionType.string, sample = Some("my-client"))("OAuth 2 client id.")
  val ClientSecret = secret("oauth.clientSecret", "OAuth 2 client secret")
  val RefreshToken = secret(
    "oauth.refreshToken",
    "OAuth 2 refresh token, instead of the client credentials grant. If the server replaces it, a stream keeps the new one in its checkpoint, not encrypted")
  val Scope = option("oauth.scope", OptionType.string, sample = Some("read:comments"))("OAuth 2 scopes.")
  val Params = option("oauth.params.*", OptionType.string, secret = true)(
    "Further parameters of the token request, as oauth.params.audience.")
  val ClientAuth = option("oauth.clientAuth", OptionType.oneOf("basic", "body"), Some("basic"))(
    "Whether client id and secret are sent by basic authentication or in the body.")

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] =
    select(values, TokenUrl)(settings(values))

  private def settings(values: OptionValues): Either[EpochalException, OAuthSettings] =
    for {
      secret <- ClientSecret.of(values)
      refresh <- RefreshToken.of(values)
      id <- requireOption(values, TokenUrl, ClientId)
      _ <- ensure(secret.isDefined || refresh.isDefined)(missing(values, TokenUrl, ClientSecret.text))
      _ <- secret.map(_.readable).getOrElse(Right(""))
      _ <- refresh.map(_.readable).getOrElse(Right(""))
      headers <- HttpHeaders.of(values.group.format, Map.empty)
      endpoint <- Endpoint
        .of(values(TokenUrl), Nil, headers)
        .left
        .map(values.group.invalid(TokenUrl, Redaction.url(values(TokenUrl)), _))
    } yield OAuthSettings(
      endpoint,
      id,
      secret,
      refresh,
      values.get(Scope),
      values.family(Params).toSeq.sortBy(_._1),
      values(ClientAuth) == "body")
}
