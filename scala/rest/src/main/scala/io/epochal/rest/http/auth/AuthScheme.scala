package io.epochal.rest.http.auth

import java.net.URI

import io.epochal.core.error.{EpochalException, Reference}
import io.epochal.core.option.OptionValues
import io.epochal.kit.access.Secret
import io.epochal.rest.http.request.{Endpoint, HttpCall, HttpHeaders, OptionList}

/** An authentication scheme: its options, their checks and its settings. Registered in [[AuthSchemes]]. */
abstract private[rest] class AuthScheme extends OptionList {

  /** Reads and checks the scheme's options and secrets before the query starts.
    *
    * @param endpoint
    *   its headers and parameters must not be set a second time
    * @return
    *   None if the options do not select this scheme
    */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]]
}

private[auth] object AuthScheme {

  /** Rejects a secret that cannot be read, or that is not a valid header value.
    *
    * @param option
    *   its name
    */
  def sendable(format: String, option: String, secret: Secret): Either[EpochalException, Unit] =
    secret.readable.flatMap(HttpHeaders.value(format, option, _))
}

/** The settings of one scheme. Serialized to the executors with the secrets as read on the driver; prints without them.
  */
private[epochal] trait AuthSettings extends Serializable {

  /** The option that selected the scheme, as the user wrote it. */
  def option: String

  final def reference: String = Reference.option(option)

  /** Values that are masked in all texts. */
  def secrets: Seq[Secret]

  /** Whether it sets the Authorization header, which a request has only once. */
  def isAuthorization: Boolean = false

  /** Name of the query parameter that it adds, which is excluded from the source's identity. */
  def parameter: Option[String] = None

  /** @param server
    *   sends token requests, possibly to a server other than the API
    */
  def open(server: TokenRequest.Send): Credential
}

/** A scheme in use by one stream or task. Thread-safe. */
private[epochal] trait Credential extends AutoCloseable {

  /** The proof for the next request, retries included.
    *
    * @throws EpochalException
    *   if there is none
    */
  def proof(): Proof

  override def close(): Unit = ()
}

/** The headers and parameters that authenticate one request. */
private[epochal] trait Proof {

  def headers: Seq[(String, String)] = Nil

  /** Query parameters, not yet encoded. */
  def parameters: Seq[(String, String)] = Nil

  /** Headers computed from the finished request.
    *
    * @param target
    *   path and query, with all parameters
    * @param headers
    *   ours and the user's; `Host` and the body's headers are added later
    */
  def signature(call: HttpCall, base: URI, target: String, headers: => Seq[(String, String)]): Seq[(String, String)] =
    Nil

  /** Called when the server rejects the proof (401).
    *
    * @return
    *   whether the next proof differs: the request is then repeated once
    */
  def reject(): Boolean = false
}
