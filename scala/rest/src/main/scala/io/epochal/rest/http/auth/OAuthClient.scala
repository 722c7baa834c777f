package io.epochal.rest.http.auth

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant

import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.access.Secret
import io.epochal.kit.record.Body
import io.epochal.rest.http.request.{Endpoint, HttpBody, HttpCall}

/** Asks a token server for access tokens (RFC 6749, sections 4.4 and 6). */
final private[auth] class OAuthClient(oauth: OAuthSettings, server: TokenServer) {

  /** @throws EpochalException
    *   OAUTH_REFUSED, when the server says no, or one of the HTTP conditions
    */
  def ask(asking: Asking): Grant = {
    val hidden = oauth.secrets ++ asking.refreshToken.map(Secret.Given(_))
    val call = request(asking.refreshToken)
    server
      .ask(oauth.endpoint, call, hidden, OAuthClient.MaxResponseBytes, asking.first)(grant)
      .fold(refusal => throw refused(s"status ${refusal.status}${reason(refusal)}"), identity)
  }

  private def request(latest: Option[String]): HttpCall = {
    val refresh = latest.orElse(oauth.refreshToken.map(_.read()))
    val secret = oauth.clientSecret.map(_.read())
    val grant = refresh.fold(Seq("grant_type" -> "client_credentials"))(token =>
      Seq("grant_type" -> "refresh_token", "refresh_token" -> token))
    val client =
      if (oauth.inBody || secret.isEmpty) Seq("client_id" -> oauth.clientId) ++ secret.map("client_secret" -> _)
      else Nil
    val authorization = secret
      .filter(_ => !oauth.inBody)
      .map(text => "Authorization" -> BasicLogin.header(Endpoint.encode(oauth.clientId), Endpoint.encode(text)))
    val form = (grant ++ client ++ oauth.scope.map("scope" -> _) ++ oauth.params).map { case (name, value) =>
      s"${Endpoint.encode(name)}=${Endpoint.encode(value)}"
    }
    HttpCall(
      "POST",
      oauth.endpoint.target(""),
      authorization.toSeq,
      Some(new HttpBody("application/x-www-form-urlencoded", form.mkString("&").getBytes(UTF_8))))
  }

  private def grant(buffer: Body): Grant = {
    val response = OAuthClient.json.readTree(buffer.bytes, 0, buffer.length)
    val token = text(response, "access_token").getOrElse(throw refused("its response has no access_token"))
    val now = Instant.now()
    val seconds = text(response, "expires_in").flatMap(_.toDoubleOption).filter(_ > 0)
    Grant(
      AccessToken(token, now, seconds.map(s => now.plusSeconds(math.min(s, OAuthClient.MaxSeconds).toLong))),
      text(response, "refresh_token"))
  }

  /** What an error says of itself (RFC 6749, section 5.2), without secrets that it repeats. */
  private def reason(refusal: TokenServer.Refusal): String =
    Try(OAuthClient.json.readTree(refusal.body.bytes, 0, refusal.body.length)).toOption
      .flatMap(response =>
        text(response, "error").map(error => (error +: text(response, "error_description").toSeq).mkString(": ")))
      .fold("")(said => s", ${refusal.masked(said).replaceAll("\\s+", " ").take(OAuthClient.ShownCharacters)}")

  private def text(response: JsonNode, field: String): Option[String] =
    Option(response)
      .flatMap(a => Option(a.get(field)))
      .filter(value => value.isValueNode && !value.isNull)
      .map(_.asText)
      .filter(_.nonEmpty)

  private def refused(reason: String): EpochalException =
    Conditions.OAuthRefused("url" -> oauth.endpoint, "reason" -> reason)
}

private object OAuthClient {
  private val json = new ObjectMapper
  private val MaxSeconds = 1e10

  /** Many times what a token server says. */
  private val MaxResponseBytes = 1L << 20
  private val ShownCharacters = 200
}
