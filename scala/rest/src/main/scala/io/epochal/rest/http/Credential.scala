package io.epochal.rest.http

import java.net.URI

/** A scheme in use by one stream or task. Thread-safe. */
private[epochal] trait Credential extends AutoCloseable {

  /** The headers that authenticate the next request; called for each retry.
    *
    * @throws EpochalException
    *   if there is no credential
    */
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

  /** Called when the server rejects a request with these headers (401).
    *
    * @param challenges
    *   the response's headers `WWW-Authenticate`
    * @return
    *   whether the next request has other ones: it is then repeated once
    */
  def onRejection(headers: Seq[(String, String)], challenges: Seq[String]): Boolean = false

  override def close(): Unit = ()
}
