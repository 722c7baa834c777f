package io.epochal.rest.http

import java.time.Duration

/** Connection settings. Queries with the same settings share connections within a JVM. Serialized to the executors;
  * prints without secrets.
  *
  * @param timeout
  *   for connecting, and for each read
  * @param tls
  *   None: the JVM's defaults
  */
final case class HttpTransport(timeout: Duration, tls: Option[Tls] = None, proxy: Option[Proxy] = None) {

  /** All settings, including secrets, as input of a fingerprint. */
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
