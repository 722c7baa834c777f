package io.epochal.rest.http.auth

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{Secret, SecretOption}
import io.epochal.rest.http.request.{Endpoint, HttpHeaders}

/** How access tokens are asked for. Prints without secrets.
  *
  * @param refreshToken
  *   given: the grant is `refresh_token`, else `client_credentials`
  * @param params
  *   further parameters of the token request
  * @param inBody
  *   whether the client's id and secret stand in the body (`client_secret_post`) or are its basic authorization
  */
final case class OAuthSettings(
    endpoint: Endpoint,
    clientId: String,
    clientSecret: Option[Secret],
    refreshToken: Option[Secret],
    scope: Option[String],
    params: Seq[(String, String)],
    inBody: Boolean
) extends AuthSettings {

  override def option: String = OAuth.TokenUrl.name
  override def isAuthorization: Boolean = true

  override def secrets: Seq[Secret] =
    clientSecret.toSeq ++ refreshToken ++ params.map { case (_, value) => Secret.Given(value) }

  override def open(server: TokenServer): Credential = new OAuthCredential(this, server)

  override def toString: String = s"OAuth($endpoint)"
}

final private class OAuthCredential(settings: OAuthSettings, server: TokenServer) extends Credential {
  private val tokens = OAuthTokens.open(settings)
  private val client = new OAuthClient(settings, server)

  /** Asks for a token where there is none that is fresh.
    *
    * @throws EpochalException
    *   OAUTH_REFUSED, or why the token server could not be asked
    */
  override def proof(): Proof = new Proof {
    private val token = tokens.value.token(client.ask)
    override def headers: Seq[(String, String)] = Seq("Authorization" -> s"Bearer ${token.text}")
    override def reject(): Boolean = {
      tokens.value.reject(token)
      true
    }
  }

  override def close(): Unit = tokens.close()
}

/** RFC 6749: a bearer token that a token server gives for the client's credentials, or for a refresh token. */
object OAuth extends AuthScheme {

  val TokenUrl: OptionSpec[String] = OptionSpec(
    "oauth.tokenUrl",
    OptionType.string,
    "OAuth 2: address of the token server. An access token is requested before one is needed, before it expires, and after a 401.",
    sample = Some("https://login.example.com/oauth/token"))
  val ClientId: OptionSpec[String] =
    OptionSpec("oauth.clientId", OptionType.string, "OAuth 2: the client's id.", sample = Some("my-client"))
  val ClientSecret: SecretOption = SecretOption("oauth.clientSecret", "OAuth 2: the client's secret")
  val RefreshToken: SecretOption =
    SecretOption("oauth.refreshToken", "OAuth 2: refresh token, the grant in place of the client's own credentials")
  val Scope: OptionSpec[String] =
    OptionSpec("oauth.scope", OptionType.string, "OAuth 2: the scopes to ask for.", sample = Some("read:comments"))
  val Params: OptionSpec[String] = OptionSpec(
    "oauth.params.*",
    OptionType.string,
    "OAuth 2: further parameters of the token request, as oauth.params.audience.",
    secret = true)
  val ClientAuth: OptionSpec[String] = OptionSpec(
    "oauth.clientAuth",
    OptionType.oneOf("basic", "body"),
    "OAuth 2: where the client's id and secret stand in the token request: its basic authorization, or its body.",
    Some("basic"))

  override val options: Seq[OptionSpec[_]] =
    Seq(TokenUrl, ClientId) ++ ClientSecret.all ++ RefreshToken.all ++ Seq(Scope, Params, ClientAuth)

  override def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]] = {
    val others = options.filter(values.isSet(_)).map(_.name).filter(_ != TokenUrl.name) ++
      values.family(Params).keys.map(Params.prefix + _)
    if (values.isSet(TokenUrl)) settings(values).map(Some(_))
    else
      Either.cond(
        others.isEmpty,
        None,
        values.conflict(
          s"${others.mkString(", ")} without oauth.tokenUrl",
          s"Set oauth.tokenUrl too, or leave ${others.mkString(", ")} out."))
  }

  private def settings(values: OptionValues): Either[EpochalException, OAuthSettings] =
    for {
      secret <- ClientSecret.of(values)
      refresh <- RefreshToken.of(values)
      id <- values.get(ClientId).toRight(needs(values, ClientId))
      _ <- Either.cond(secret.isDefined || refresh.isDefined, (), needs(values, ClientSecret.text))
      _ <- secret.fold[Either[EpochalException, String]](Right(""))(_.readable)
      _ <- refresh.fold[Either[EpochalException, String]](Right(""))(_.readable)
      headers <- HttpHeaders.of(values.group.format, Map.empty)
      endpoint <- Endpoint.of(values(TokenUrl), Nil, headers).left.map(invalid(values, _))
    } yield OAuthSettings(
      endpoint,
      id,
      secret,
      refresh,
      values.get(Scope),
      values.family(Params).toSeq.sortBy(_._1),
      values(ClientAuth) == "body")

  private def needs(values: OptionValues, spec: OptionSpec[_]): EpochalException = Conditions.OptionRequired(
    "format" -> s"${values.group.format} with oauth.tokenUrl",
    "option" -> spec.name,
    "doc" -> spec.doc,
    "example" -> spec.example)

  private def invalid(values: OptionValues, expected: String): EpochalException =
    values.group.invalid(TokenUrl, Redaction.url(values(TokenUrl)), expected)
}
