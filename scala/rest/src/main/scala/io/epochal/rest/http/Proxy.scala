package io.epochal.rest.http

import io.epochal.core.error.Redaction

/** An HTTP proxy (RFC 9110, section 7.7; CONNECT for https).
  *
  * @param login
  *   user and password for basic authentication
  */
final case class Proxy(host: String, port: Int, login: Option[(String, String)]) {
  override def toString: String = s"$host:$port${login.fold("")(_ => s" (${Redaction.Mask})")}"
}
