package io.epochal.jdbc.option

import java.sql.SQLException

import scala.util.Try

import io.epochal.core.error.Redaction
import io.epochal.kit.access.Secret

/** How to connect. Prints without user, password and properties.
  *
  * @param maxConnections
  *   of one JVM; None: as many as the dialect says
  */
final case class ConnectionSettings(
    url: String,
    user: Option[String],
    password: Option[Secret],
    driver: Option[String],
    properties: Map[String, String],
    maxConnections: Option[Int] = None
) {

  /** Of the URL what is known to be no secret. */
  def place: String = JdbcUrl.shown(url)

  /** A text from outside, without our secrets and without what looks like one. */
  def redact(text: String): String = {
    val ours = Option(text).getOrElse("").replace(url, place)
    Redaction.text(secrets.foldLeft(ours)((t, secret) => t.replace(secret, Redaction.Mask)))
  }

  /** The driver's error without secrets, without its causes, which may hold some too. */
  def redact(error: SQLException): SQLException = {
    val redacted = new SQLException(redact(error.getMessage), error.getSQLState, error.getErrorCode)
    redacted.setStackTrace(error.getStackTrace)
    redacted
  }

  /** The same with the password read, for where it cannot be read: on executors. */
  def resolved: ConnectionSettings = copy(password = password.map(p => Secret.Given(p.read())))

  private def secrets: Seq[String] =
    (password.flatMap(p => Try(p.read()).toOption).toSeq ++ properties.values ++ JdbcUrl.secrets(url))
      .filter(_.length >= ConnectionSettings.ShortestSecret)
      .sortBy(-_.length)

  override def toString: String = place
}

object ConnectionSettings {
  // Shorter values (true, 30, on) are settings; masking them would make texts unreadable.
  private val ShortestSecret = 5
}
