package io.epochal.rest.http.transport

import java.time.Duration

import io.epochal.core.error.Redaction

/** What connections are like: queries that want the same share them within a JVM. Travels to the executors; prints without
  * secrets.
  *
  * @param timeout
  *   how long to wait for a connection, and for the server's next bytes
  * @param tls
  *   None: as the JVM has it
  */
final case class HttpTransport(timeout: Duration, tls: Option[Tls] = None, proxy: Option[Proxy] = None) {

  /** All that it depends on, secrets as well: for a fingerprint. */
  private[http] def identity: Seq[Option[String]] = {
    val client = tls.flatMap(_.client)
    val login = proxy.flatMap(_.login)
    Seq(
      Some(timeout.toString),
      tls.flatMap(_.authorities),
      client.map(_.chain),
      client.map(_.key),
      client.flatMap(_.password),
      proxy.map(_.host),
      proxy.map(_.port.toString),
      login.map(_._1),
      login.map(_._2)
    )
  }
}

/** An HTTP proxy (RFC 9110, section 7.7; CONNECT for https).
  *
  * @param login
  *   user and password, for basic authorization
  */
final case class Proxy(host: String, port: Int, login: Option[(String, String)]) {
  override def toString: String = s"$host:$port${login.fold("")(_ => s" (${Redaction.Mask})")}"
}
