package io.epochal.rest.http

/** A response 400, 404 or 416 in place of a page that may be past the end of the list.
  *
  * @param body
  *   its beginning, without secrets
  */
final private[epochal] case class Refusal(status: Int, body: String) {

  override def toString: String = s"status $status${if (body.isEmpty) "" else s" ($body)"}"
}
