package io.epochal.rest.http.request

/** The options that say who asks, for what an error advises.
  *
  * @param set
  *   those that the user has set
  * @param possible
  *   one of each kind
  */
final private[epochal] case class CredentialAdvice(set: Seq[String], possible: Seq[String]) {

  def advice(status: Int): String = (status, set) match {
    case (401, Nil) => s"The server asks for credentials, and none are set: set ${possible.mkString(", ")}."
    case (401, _)   => s"The server does not accept the credentials: check ${set.mkString(", ")}."
    case (_, Nil) =>
      s"The server does not permit this request, and no credentials are set: set ${possible.mkString(", ")}."
    case _ => s"These credentials have no permission for this request: check ${set.mkString(", ")}."
  }
}
