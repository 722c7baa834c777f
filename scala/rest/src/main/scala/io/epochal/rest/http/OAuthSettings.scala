package io.epochal.rest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant

import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.hash.Sha256
import io.epochal.core.journal.FileStore
import io.epochal.kit.access.Secret
import io.epochal.kit.record.Body

/** How access tokens are requested. Prints without secrets.
  *
  * @param refreshToken
  *   if set, the grant is `refresh_token`, else `client_credentials`
  * @param params
  *   further parameters of the token request
  * @param inBody
  *   whether client id and secret are sent in the body (`client_secret_post`) or by basic authentication
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

  override def keep(store: => FileStore): Unit = refreshToken.foreach { token =>
    val identity = Seq(endpoint.base.toString, endpoint.target(""), clientId, token.read()).mkString("\n")
    Using.resource(OAuthTokens.open(this))(
      _.value.keep(s"$store", new RefreshTokenFile(store, Sha256.hex(identity, 16))))
  }

  override def open(http: HttpSettings, counters: HttpCounters): Credential =
    new OAuthCredential(this, http, counters)

  override def toString: String = s"OAuth($endpoint)"
}

/** Requests access tokens (RFC 6749, sections 4.4 and 6), which it shares with the JVM's other tasks. */
final private class OAuthCredential(oauth: OAuthSettings, http: HttpSettings, counters: HttpCounters)
    extends Credential {
  private val Bearer = "Bearer "
  private val json = new ObjectMapper
  final private val MaxSeconds = 1e10
  final private val ShownCharacters = 200

  /** Many times the size of a token. */
  final private val MaxResponseBytes = 1L << 20

  private val tokens = OAuthTokens.open(oauth)

  /** Requests a token unless a fresh one exists.
    *
    * @throws EpochalException
    *   OAUTH_REFUSED, or one of the HTTP conditions
    */
  override def headers: Seq[(String, String)] = Seq("Authorization" -> s"$Bearer${tokens.value.token(grant).text}")

  override def onRejection(headers: Seq[(String, String)], challenges: Seq[String]): Boolean = {
    headers.foreach { case (_, value) => tokens.value.reject(value.stripPrefix(Bearer)) }
    true
  }

  override def close(): Unit = tokens.close()

  /** Uses connections with the query's timeouts and retries, but not its budget. */
  private def grant(latest: Option[String], first: Boolean): OAuthGrant = {
    val buffer = new Body
    val settings = http.copy(
      endpoint = oauth.endpoint,
      query = "",
      budget = HttpBudget.Unlimited,
      retryStatuses = HttpStatuses.transient,
      ignoreStatuses = HttpStatuses.none,
      auth = Nil,
      text = None,
      rules = None,
      maxResponseBytes = math.min(http.maxResponseBytes, MaxResponseBytes),
      extraSecrets = oauth.secrets ++ latest.map(Secret.Given(_)))
    val token = latest.orElse(oauth.refreshToken.map(_.read()))
    try
      Using.resource(new HttpClient(settings, counters))(_.call(request(token), buffer, first)(_ =>
        read(buffer, token)))
    catch {
      case error: EpochalException if error.condition == Conditions.HttpStatus =>
        throw refusal(s"status ${error.values("status")}${reason(buffer, settings)}")
    }
  }

  private def request(refresh: Option[String]): HttpCall = {
    val secret = oauth.clientSecret.map(_.read())
    val grant = refresh.fold(Seq("grant_type" -> "client_credentials"))(token =>
      Seq("grant_type" -> "refresh_token", "refresh_token" -> token))
    val client =
      if (oauth.inBody || secret.isEmpty) Seq("client_id" -> oauth.clientId) ++ secret.map("client_secret" -> _)
      else Nil
    val authorization = secret
      .filter(_ => !oauth.inBody)
      .map(text => "Authorization" -> BasicLogin.header(Endpoint.encode(oauth.clientId), Endpoint.encode(text)))
    val form = (grant ++ client ++ oauth.scope.map("scope" -> _) ++ oauth.params).map(Endpoint.parameter)
    HttpCall(
      "POST",
      oauth.endpoint.target(""),
      authorization.toSeq,
      Some(new HttpBody("application/x-www-form-urlencoded", form.mkString("&").getBytes(UTF_8))),
      repeatable = refresh.isEmpty)
  }

  private def read(buffer: Body, sentToken: Option[String]): OAuthGrant = {
    val response = json.readTree(buffer.bytes, 0, buffer.length)
    val token = text(response, "access_token").getOrElse(throw refusal("its response has no access_token"))
    val now = Instant.now()
    val seconds = text(response, "expires_in").flatMap(_.toDoubleOption).filter(_ > 0)
    OAuthGrant(
      AccessToken(token, now, seconds.map(s => now.plusSeconds(math.min(s, MaxSeconds).toLong))),
      text(response, "refresh_token").filterNot(sentToken.contains))
  }

  /** The error in the response (RFC 6749, section 5.2), with secrets masked. */
  private def reason(body: Body, settings: HttpSettings): String =
    Try(json.readTree(body.bytes, 0, body.length)).toOption
      .flatMap(response =>
        text(response, "error").map(error => (error +: text(response, "error_description").toSeq).mkString(": ")))
      .fold("")(text => s", ${settings.mask(text).replaceAll("\\s+", " ").take(ShownCharacters)}")

  private def text(response: JsonNode, field: String): Option[String] =
    Option(response)
      .flatMap(a => Option(a.get(field)))
      .filter(value => value.isValueNode && !value.isNull)
      .map(_.asText)
      .filter(_.nonEmpty)

  private def refusal(reason: String): EpochalException =
    Conditions.OAuthRefused("url" -> oauth.endpoint, "reason" -> reason)
}
