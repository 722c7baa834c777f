package io.epochal.rest.http.auth

import java.time.{Clock, Duration, Instant}
import java.util.concurrent.locks.ReentrantLock

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.rest.http.request.{Lease, SharedValues}

/** @param expires
  *   None: the server sent no lifetime
  */
final private[http] case class AccessToken(text: String, obtained: Instant, expires: Option[Instant]) {

  /** Whether the token need not be renewed yet: that is due one minute before expiry, or after nine tenths of a short
    * lifetime.
    */
  def isFresh(now: Instant): Boolean = expires.forall { end =>
    val tenth = Duration.between(obtained, end).dividedBy(10)
    val margin = if (tenth.compareTo(AccessToken.Margin) < 0) tenth else AccessToken.Margin
    now.isBefore(end.minus(margin))
  }

  override def toString: String = s"AccessToken(${Redaction.Mask})"
}

private[http] object AccessToken {
  private val Margin = Duration.ofMinutes(1)
}

/** @param refreshToken
  *   replaces the previous one, if the server sent one
  */
final private[http] case class Grant(token: AccessToken, refreshToken: Option[String]) {
  override def toString: String = s"Grant(${Redaction.Mask})"
}

/** The inputs of a token request.
  *
  * @param refreshToken
  *   the one that the server sent last, in place of the option's
  * @param first
  *   whether no token has been granted yet
  */
final private[http] case class GrantInputs(refreshToken: Option[String], first: Boolean) {
  override def toString: String = s"GrantInputs(${Redaction.Mask})"
}

/** The access token of one client at one token server, for all tasks of a JVM: one task renews it, and the others wait
  * for the outcome, be it a failure.
  *
  * Not guaranteed: a refresh token that the server replaces is known only to this JVM, until it exits.
  */
final private[http] class OAuthTokens(clock: Clock) {
  private val renewing = new ReentrantLock
  @volatile private var current = Option.empty[AccessToken]
  @volatile private var refreshToken = Option.empty[String]
  private var granted = false
  @volatile private var renewals = 0L
  private var failure = Option.empty[(Long, EpochalException)]

  /** @param request
    *   requests a token from the server
    * @throws EpochalException
    *   the one thrown by `request`, also in another task that this one waited for
    */
  def token(request: GrantInputs => Grant): AccessToken =
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
  def reject(token: AccessToken): Unit = {
    renewing.lockInterruptibly()
    try if (current.contains(token)) current = None
    finally renewing.unlock()
  }

  /** Whether the server has replaced the refresh token of the options. */
  def isReplaced: Boolean = refreshToken.isDefined

  private def renew(request: GrantInputs => Grant): AccessToken =
    try {
      val grant = request(GrantInputs(refreshToken, !granted))
      granted = true
      refreshToken = grant.refreshToken.orElse(refreshToken)
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
