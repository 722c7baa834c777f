package io.epochal.rest.http.auth

import java.net.URI

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionSpec, OptionValues}
import io.epochal.kit.access.Secret
import io.epochal.rest.http.request.{Endpoint, HttpCall, HttpHeaders}

/** A way to say who asks. Each is one file, with its options, their checks and what a request carries; [[AuthSchemes]]
  * lists them.
  */
private[epochal] trait AuthScheme {

  def options: Seq[OptionSpec[_]]

  /** Reads each secret once: what cannot be read, or cannot be sent, is refused before the query starts.
    *
    * @param endpoint
    *   whose own headers and parameters must not be set a second time
    * @return
    *   None when the options do not ask for this scheme
    */
  def read(values: OptionValues, endpoint: Endpoint): Either[EpochalException, Option[AuthSettings]]
}

private[auth] object AuthScheme {

  /** @param option
    *   that has the secret
    */
  def sendable(format: String, option: String, secret: Secret): Either[EpochalException, Unit] =
    secret.readable.flatMap(HttpHeaders.value(format, option, _))
}

/** What the options say of one scheme. Travels to the executors with its secrets as they were read then; prints without
  * them.
  */
private[epochal] trait AuthSettings extends Serializable {

  /** The option that chose the scheme, as the user wrote it. */
  def option: String

  /** What must be in no text. */
  def secrets: Seq[Secret]

  /** Whether it fills the header Authorization, of which a request has one. */
  def isAuthorization: Boolean = false

  /** Name of the query parameter that it adds; that does not count for the source's identity. */
  def parameter: Option[String] = None

  /** @param server
    *   how a server other than the API is asked, where tokens come from one
    */
  def open(server: TokenServer): Credential
}

/** A scheme at work, for one stream or one task. Threads may share it. */
private[epochal] trait Credential extends AutoCloseable {

  /** What the next request carries, also one that is repeated.
    *
    * @throws EpochalException
    *   when it cannot be had
    */
  def proof(): Proof

  override def close(): Unit = ()
}

/** What one request carries to say who asks. */
private[epochal] trait Proof {

  def headers: Seq[(String, String)] = Nil

  /** Query parameters, not yet encoded. */
  def parameters: Seq[(String, String)] = Nil

  /** Headers that are made of the finished request.
    *
    * @param target
    *   path and query, with all parameters
    * @param headers
    *   ours and the user's; `Host` and those of the body come later
    */
  def signature(call: HttpCall, base: URI, target: String, headers: => Seq[(String, String)]): Seq[(String, String)] =
    Nil

  /** Says that the server did not accept it (401).
    *
    * @return
    *   whether the next one is another: the request is then repeated once
    */
  def reject(): Boolean = false
}

/** The same proof for every request. Its methods read secrets each time: one that was changed counts from then on. */
private[auth] trait ConstantProof extends AuthSettings with Proof {
  override def open(server: TokenServer): Credential = () => this
}
