package io.epochal.rest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import io.epochal.rest.http.auth.{ApiKey, Authorization, KeyPlace, Signer}
import io.epochal.rest.http.request.{Endpoint, HttpCall, HttpCounters}

/** What a request carries to say who asks: a part of each request that is made, also of one that is made again. */
final private[http] class Credentials(settings: HttpSettings, counters: HttpCounters) extends AutoCloseable {
  import settings.auth

  private val signer = auth.signer.map(new Signer(_))
  private val oauth = auth.authorization.collect { case Authorization.OAuth(asked) =>
    (OAuthTokens.open(asked), new OAuthClient(asked, settings, counters))
  }

  /** The access token for the next request, where there is OAuth; asks for one where there is none that is fresh.
    *
    * @throws EpochalException
    *   OAUTH_REFUSED, or why the token server could not be asked
    */
  def token(): Option[AccessToken] = oauth.map { case (tokens, client) => tokens.value.token(client.ask) }

  /** Says that the server did not take the token. */
  def reject(token: AccessToken): Unit = oauth.foreach { case (tokens, _) => tokens.value.reject(token) }

  def headers(token: Option[AccessToken]): Seq[(String, String)] = {
    val authorization = auth.authorization.map {
      case Authorization.Bearer(secret)        => s"Bearer ${secret.read()}"
      case Authorization.Basic(user, password) => Credentials.basic(user, password.fold("")(_.read()))
      case Authorization.OAuth(_)              => s"Bearer ${token.fold("")(_.text)}"
    }
    authorization.map("Authorization" -> _).toSeq ++
      auth.apiKey.collect { case ApiKey(key, KeyPlace.Header(name)) => name -> key.read() }
  }

  /** What the signature of a request adds to its headers; it is made last.
    *
    * @throws EpochalException
    *   SIGNER_INVALID, when there is none
    */
  def signature(call: HttpCall, target: String, headers: => Seq[(String, String)]): Seq[(String, String)] =
    signer.toSeq.flatMap(_.sign(settings.endpoint.base, target, headers, call))

  /** The request target with the key, where that is a parameter. */
  def target(plain: String): String = auth.apiKey match {
    case Some(ApiKey(key, KeyPlace.Param(name))) =>
      s"$plain${if (plain.contains('?')) "&" else "?"}${Endpoint.encode(name)}=${Endpoint.encode(key.read())}"
    case _ => plain
  }

  override def close(): Unit = oauth.foreach { case (tokens, _) => tokens.close() }
}

private[http] object Credentials {

  /** RFC 7617. */
  def basic(user: String, password: String): String =
    s"Basic ${Base64.getEncoder.encodeToString(s"$user:$password".getBytes(UTF_8))}"
}
