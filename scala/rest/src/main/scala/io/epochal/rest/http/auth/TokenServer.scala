package io.epochal.rest.http.auth

import io.epochal.kit.access.Secret
import io.epochal.kit.record.Body
import io.epochal.rest.http.request.{Endpoint, HttpCall}

/** Requests to another server than the API, over connections like those of the query: its timeouts and retries hold there
  * too, its budget does not.
  */
private[epochal] trait TokenServer {

  /** @param hidden
    *   what must be in no text
    * @param maxBytes
    *   of the response
    * @param first
    *   whether the server has not responded to this query yet: it is given up on early when it cannot be reached
    * @param read
    *   reads the body as a part of the attempt: a body that is no JSON is asked for again
    * @return
    *   what was read, or the server's refusal
    * @throws EpochalException
    *   one of the HTTP conditions
    */
  def ask[A](endpoint: Endpoint, call: HttpCall, hidden: Seq[Secret], maxBytes: Long, first: Boolean)(
      read: Body => A): Either[TokenServer.Refusal, A]
}

private[epochal] object TokenServer {

  /** @param masked
    *   makes the server's text fit to be shown
    */
  final private[http] class Refusal(val status: String, val body: Body, val masked: String => String)
}
