package io.epochal.rest.http.auth

import java.net.URI

import io.epochal.core.error.{EpochalException, Reference}
import io.epochal.core.option.OptionValues
import io.epochal.kit.access.Secret
import io.epochal.rest.http.request.{Endpoint, HttpCall, HttpHeaders, OptionList}

/** A way to authenticate requests: an object with its options, their checks and what a request carries. [[AuthSchemes]] lists
  * them.
  */
abstract private[rest] class AuthScheme extends OptionList {

  /** Reads each secret once: one that cannot be read, or cannot be sent, is refused before the query starts.
    *
    * @param endpoint
    *   its own headers and parameters must not be set a second time
    * @return
    *   None when the options do not select this scheme
    */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]]
}

private[auth] object AuthScheme {

  /** Refuses a secret that cannot be read, or that no header can carry.
    *
    * @param option
    *   its name
    */
  def sendable(format: String, option: String, secret: Secret): Either[EpochalException, Unit] =
    secret.readable.flatMap(HttpHeaders.value(format, option, _))
}

/** The settings of one scheme. Travels to the executors with the secrets as the driver read them; prints without them. */
private[epochal] trait AuthSettings extends Serializable {

  /** The option that chose the scheme, as the user wrote it. */
  def option: String

  final def reference: String = Reference.option(option)

  /** Values that are masked in all texts. */
  def secrets: Seq[Secret]

  /** Whether it sets the header Authorization, of which a request has one. */
  def isAuthorization: Boolean = false

  /** Name of the query parameter that it adds, which is not a part of the source's identity. */
  def parameter: Option[String] = None

  /** @param server
    *   requests tokens from another server than the API
    */
  def open(server: TokenRequest.Send): Credential
}

/** A scheme in use by one stream or one task. Threads may share it. */
private[epochal] trait Credential extends AutoCloseable {

  /** The proof for the next request, retries included.
    *
    * @throws EpochalException
    *   when there is none
    */
  def proof(): Proof

  override def close(): Unit = ()
}

/** What one request carries to authenticate itself. */
private[epochal] trait Proof {

  def headers: Seq[(String, String)] = Nil

  /** Query parameters, not encoded yet. */
  def parameters: Seq[(String, String)] = Nil

  /** Headers computed from the finished request.
    *
    * @param target
    *   path and query, with all parameters
    * @param headers
    *   ours and the user's; `Host` and those of the body are added later
    */
  def signature(call: HttpCall, base: URI, target: String, headers: => Seq[(String, String)]): Seq[(String, String)] =
    Nil

  /** The server rejected it (401).
    *
    * @return
    *   whether the next proof differs: the request is then repeated once
    */
  def reject(): Boolean = false
}
