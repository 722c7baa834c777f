package io.epochal.rest.http

import java.time.{Clock, Duration, Instant}
import java.util.concurrent.locks.ReentrantLock

import io.epochal.core.error.{EpochalException, Redaction}

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
  def token(request: (Option[String], Boolean) => OAuthGrant): AccessToken =
    current.filter(_.isFresh(clock.instant())).getOrElse {
      val renewalsBefore = renewals
      renewing.lockInterruptibly()
      try
        current.filter(_.isFresh(clock.instant())).getOrElse {
          failure.foreach { case (number, error) => if (number > renewalsBefore) throw error }
          renew(request)
        }
      finally renewing.unlock()
    }

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

  /** Whether the server has replaced the refresh token of the options, or may do so. */
  def isReplaced: Boolean = refreshToken.isDefined || files.nonEmpty

  private def renew(request: (Option[String], Boolean) => OAuthGrant): AccessToken =
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

/** @param expires
  *   None: the server sent no lifetime
  */
final private[http] case class AccessToken(text: String, issuedAt: Instant, expires: Option[Instant]) {
  private val Margin = Duration.ofMinutes(1)

  /** Whether the token need not be renewed yet: that is due one minute before expiry, or after nine tenths of a short
    * lifetime.
    */
  def isFresh(now: Instant): Boolean = expires.forall { end =>
    val tenth = Duration.between(issuedAt, end).dividedBy(10)
    val margin = if (tenth.compareTo(Margin) < 0) tenth else Margin
    now.isBefore(end.minus(margin))
  }

  override def toString: String = s"AccessToken(${Redaction.Mask})"
}

/** @param refreshToken
  *   replaces the previous one, if the server sent one
  */
final private[http] case class OAuthGrant(token: AccessToken, refreshToken: Option[String]) {
  override def toString: String = s"OAuthGrant(${Redaction.Mask})"
}
