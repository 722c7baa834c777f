package io.epochal.rest.http

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{Clock, Duration, Instant}
import java.util.concurrent.locks.ReentrantLock

import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.hash.Sha256
import io.epochal.core.journal.FileStore
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.Secret
import io.epochal.kit.record.Body

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
    selected(values, TokenUrl)(settings(values))

  private def settings(values: OptionValues): Either[EpochalException, OAuthSettings] =
    for {
      secret <- ClientSecret.of(values)
      refresh <- RefreshToken.of(values)
      id <- needed(values, TokenUrl, ClientId)
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

  override def rejected(headers: Seq[(String, String)], challenges: Seq[String]): Boolean = {
    headers.foreach { case (_, value) => tokens.value.reject(value.stripPrefix(Bearer)) }
    true
  }

  override def close(): Unit = tokens.close()

  /** Uses connections with the query's timeouts and retries, but not its budget. */
  private def grant(latest: Option[String], first: Boolean): Grant = {
    val buffer = new Body
    val settings = http.copy(
      endpoint = oauth.endpoint,
      query = "",
      budget = HttpBudget.unlimited,
      retried = HttpStatuses.transient,
      ignored = HttpStatuses.none,
      auth = Nil,
      text = None,
      rules = None,
      maxResponseBytes = math.min(http.maxResponseBytes, MaxResponseBytes),
      hidden = oauth.secrets ++ latest.map(Secret.Given(_)))
    val sent = latest.orElse(oauth.refreshToken.map(_.read()))
    try
      Using.resource(new HttpClient(settings, counters))(_.call(request(sent), buffer, first)(_ => read(buffer, sent)))
    catch {
      case error: EpochalException if error.condition == Conditions.HttpStatus =>
        throw refused(s"status ${error.values("status")}${reason(buffer, settings)}")
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

  private def read(buffer: Body, sent: Option[String]): Grant = {
    val response = json.readTree(buffer.bytes, 0, buffer.length)
    val token = text(response, "access_token").getOrElse(throw refused("its response has no access_token"))
    val now = Instant.now()
    val seconds = text(response, "expires_in").flatMap(_.toDoubleOption).filter(_ > 0)
    Grant(
      AccessToken(token, now, seconds.map(s => now.plusSeconds(math.min(s, MaxSeconds).toLong))),
      text(response, "refresh_token").filterNot(sent.contains))
  }

  /** The error in the response (RFC 6749, section 5.2), with secrets masked. */
  private def reason(body: Body, settings: HttpSettings): String =
    Try(json.readTree(body.bytes, 0, body.length)).toOption
      .flatMap(response =>
        text(response, "error").map(error => (error +: text(response, "error_description").toSeq).mkString(": ")))
      .fold("")(said => s", ${settings.masked(said).replaceAll("\\s+", " ").take(ShownCharacters)}")

  private def text(response: JsonNode, field: String): Option[String] =
    Option(response)
      .flatMap(a => Option(a.get(field)))
      .filter(value => value.isValueNode && !value.isNull)
      .map(_.asText)
      .filter(_.nonEmpty)

  private def refused(reason: String): EpochalException =
    Conditions.OAuthRefused("url" -> oauth.endpoint, "reason" -> reason)
}

/** @param expires
  *   None: the server sent no lifetime
  */
final private[http] case class AccessToken(text: String, obtained: Instant, expires: Option[Instant]) {
  private val Margin = Duration.ofMinutes(1)

  /** Whether the token need not be renewed yet: that is due one minute before expiry, or after nine tenths of a short
    * lifetime.
    */
  def isFresh(now: Instant): Boolean = expires.forall { end =>
    val tenth = Duration.between(obtained, end).dividedBy(10)
    val margin = if (tenth.compareTo(Margin) < 0) tenth else Margin
    now.isBefore(end.minus(margin))
  }

  override def toString: String = s"AccessToken(${Redaction.Mask})"
}

/** @param refreshToken
  *   replaces the previous one, if the server sent one
  */
final private[http] case class Grant(token: AccessToken, refreshToken: Option[String]) {
  override def toString: String = s"Grant(${Redaction.Mask})"
}

/** The access token of one client at one token server, for all tasks of a JVM: one task renews it, and the others wait
  * for the outcome, be it a failure.
  *
  * A refresh token that the server replaces is known to this JVM, until it exits, and to the checkpoints of the streams that
  * it has started ([[RefreshTokenFile]]), which are read again before each renewal: another driver may have written a newer
  * one there. Not guaranteed: that JVMs without a common checkpoint know it, or that two may renew at the same time.
  */
final private[http] class OAuthTokens(clock: Clock) {
  private val renewing = new ReentrantLock
  @volatile private var current = Option.empty[AccessToken]
  @volatile private var refreshToken = Option.empty[ReplacedToken]
  private var granted = false
  @volatile private var renewals = 0L
  private var failure = Option.empty[(Long, EpochalException)]
  @volatile private var files = Map.empty[String, RefreshTokenFile]

  /** @param request
    *   requests a token from the server, with the refresh token that it sent last, in place of the option's, and whether
    *   no token has been granted yet
    * @throws EpochalException
    *   the one thrown by `request`, also in another task that this one waited for
    */
  def token(request: (Option[String], Boolean) => Grant): AccessToken =
    current.filter(_.isFresh(clock.instant())).getOrElse {
      val seen = renewals
      renewing.lockInterruptibly()
      try
        current.filter(_.isFresh(clock.instant())).getOrElse {
          failure.foreach { case (number, error) => if (number > seen) throw error }
          renew(request)
        }
      finally renewing.unlock()
    }

  /** Discards a token that the server has rejected. */
  def reject(token: String): Unit = {
    renewing.lockInterruptibly()
    try if (current.exists(_.text == token)) current = None
    finally renewing.unlock()
  }

  /** Shares tokens with a stream's checkpoint from now on: the newer of the two replaces the other.
    *
    * @param place
    *   identifies the checkpoint
    */
  def keep(place: String, file: RefreshTokenFile): Unit = {
    renewing.lockInterruptibly()
    try {
      files += place -> file
      read(Seq(file))
      write(Seq(file))
    } finally renewing.unlock()
  }

  private def read(from: Iterable[RefreshTokenFile]): Unit =
    refreshToken = (from.flatMap(_.read()) ++ refreshToken).maxByOption(_.number)

  private def write(to: Iterable[RefreshTokenFile]): Unit = refreshToken.foreach { token =>
    val written = to.filterNot(_.read().exists(_.text == token.text)).map(_.write(token))
    refreshToken = (written ++ refreshToken).maxByOption(_.number)
  }

  /** Whether the refresh token of the options is not the last one, or will not be. */
  def isReplaced: Boolean = refreshToken.isDefined || files.nonEmpty

  private def renew(request: (Option[String], Boolean) => Grant): AccessToken =
    try {
      read(files.values)
      val grant = request(refreshToken.map(_.text), !granted)
      granted = true
      grant.refreshToken.foreach { next =>
        refreshToken = Some(ReplacedToken(refreshToken.fold(1L)(_.number + 1), next))
        write(files.values)
      }
      current = Some(grant.token)
      grant.token
    } catch {
      case error: EpochalException =>
        failure = Some((renewals + 1, error))
        throw error
    } finally renewals += 1
}

private[http] object OAuthTokens {

  /** How long unused tokens are kept. A replaced refresh token, which exists only here, is kept as long as there is
    * room.
    */
  private val Kept = Duration.ofHours(1)
  private val KeptReplaced = Duration.ofDays(365)

  final private val Capacity = 1024

  private[http] val all =
    new SharedValues[OAuthTokens](Capacity, tokens => if (tokens.isReplaced) KeptReplaced else Kept)

  /** Shared by queries with the same credentials and token request. */
  def open(settings: OAuthSettings): Lease[OAuthTokens] = {
    val identity =
      Seq(Some(s"${settings.endpoint.base}${settings.endpoint.target("")}"), Some(settings.clientId), settings.scope) ++
        Seq(settings.clientSecret, settings.refreshToken).map(_.map(_.read())) ++
        settings.params.flatMap { case (name, value) => Seq(Some(name), Some(value)) }
    all.open(identity)(new OAuthTokens(Clock.systemUTC()))
  }
}
