package io.epochal.kit.database

import java.sql.SQLException

import scala.util.Try

import io.epochal.core.error.Redaction
import io.epochal.kit.access.Secret

/** How to connect. `toString` contains no user, password or properties.
  *
  * @param maxConnections
  *   per JVM; None: the dialect's default
  */
final case class ConnectionSettings(
    url: String,
    user: Option[String],
    password: Option[Secret],
    driver: Option[String],
    properties: Map[String, String],
    maxConnections: Option[Int] = None
) {

  /** The parts of the URL that are known not to be secret. */
  def place: String = JdbcUrl.shown(url)

  /** Masks our secrets, and what looks like one, in a text from outside. */
  def redact(text: String): String = {
    val ours = Option(text).getOrElse("").replace(url, place)
    Redaction.text(secrets.foldLeft(ours)((t, secret) => t.replace(secret, Redaction.Mask)))
  }

  /** The driver's error without secrets, and without its causes, which may contain some too. */
  def redact(error: SQLException): SQLException = {
    val redactedError = new SQLException(redact(error.getMessage), error.getSQLState, error.getErrorCode)
    redactedError.setStackTrace(error.getStackTrace)
    redactedError
  }

  /** A copy with the password read, for executors, which cannot read it. */
  def resolved: ConnectionSettings = copy(password = password.map(p => Secret.Given(p.read())))

  private def secrets: Seq[String] =
    (password.flatMap(p => Try(p.read()).toOption).toSeq ++ properties.values ++ JdbcUrl.secrets(url))
      .filter(_.length >= ShortestSecret)
      .sortBy(-_.length)

  // Shorter values (true, 30, on) are settings; masking them would make texts unreadable.
  private def ShortestSecret = 5

  override def toString: String = place
}
