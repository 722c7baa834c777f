package io.epochal.jdbc.postgres

import java.util.Properties
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.postgresql.jdbc.SslMode
import org.postgresql.{Driver, PGProperty}
import org.slf4j.LoggerFactory

import io.epochal.jdbc.option.ConnectionSettings

/** Warns of a connection to another host on which nobody proves to be the server: rows, and what is needed to log in, can
  * then be read and changed on the way. The driver's default is such a connection.
  */
private[postgres] object PostgresTls {

  private val log = LoggerFactory.getLogger("io.epochal.jdbc.postgres.PostgresTls")
  private val warned = ConcurrentHashMap.newKeySet[String]()
  private val MaxPlaces = 1000

  /** Once for each place. */
  def warn(settings: ConnectionSettings): Unit =
    unverified(settings)
      .filter(_ => warned.size < MaxPlaces && warned.add(settings.place))
      .foreach(mode =>
        log.warn(
          "epochal-jdbc: {} is on another host, and with {} it need not prove who it is. Set connection.sslmode=verify-full, and connection.sslrootcert to the file of its authority (docs/security.md).",
          settings.place: Any,
          mode))

  /** The mode with which a server on another host is taken for the right one unseen. */
  private[postgres] def unverified(settings: ConnectionSettings): Option[String] = Try {
    val defaults = new Properties
    settings.properties.foreach { case (name, value) => defaults.setProperty(name, value) }
    val properties = Driver.parseURL(settings.url, defaults)
    val mode = SslMode.of(properties)
    val blind = Option(PGProperty.SSL_FACTORY.getOrNull(properties)).exists(_.endsWith("NonValidatingFactory"))
    val kerberos = Option(PGProperty.GSS_ENC_MODE.getOrNull(properties)).exists(_.equalsIgnoreCase("require"))
    val isRemote = PGProperty.PG_HOST.getOrDefault(properties).split(',').exists(host => !isHere(host.trim))
    Option.when(isRemote && !kerberos && (blind || !mode.verifyCertificate))(
      if (blind) "an sslfactory that checks nothing" else s"sslmode=${mode.value}")
  }.toOption.flatten

  /** Names are not looked up: that of another host may lead to this one for now. */
  private def isHere(host: String): Boolean =
    host.isEmpty || host.equalsIgnoreCase("localhost") || host.matches("""127(\.\d{1,3}){3}|\[?::1\]?""") ||
      host.startsWith("/")
}
