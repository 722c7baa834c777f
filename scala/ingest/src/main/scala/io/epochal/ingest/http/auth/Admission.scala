package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.security.MessageDigest

import io.epochal.ingest.http.body.Refusal

/** Whether a request may write. Refusals tell nothing of what is wrong. Threads may share it. */
private[http] trait Admission {

  /** @param header
    *   the value of a header; None where the request has none of that name, or several
    * @return
    *   why not, as far as the head can tell
    */
  def head(header: String => Option[String]): Option[Refusal]

  /** The same with the body as it was transferred, before decompression.
    *
    * @param length
    *   of the body, which begins at index 0
    */
  def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Refusal]

  /** Whether a request without a body can prove who sends it. */
  def provesWithoutBody: Boolean
}

/** No credentials are asked for. */
private[http] object OpenAdmission extends Admission {
  override def head(header: String => Option[String]): Option[Refusal] = None
  override def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Refusal] = None
  override def provesWithoutBody: Boolean = true
}

/** `Authorization` by a scheme of RFC 7617 or RFC 6750. All expected values are compared, each in constant time.
  *
  * @param expected
  *   the header's values that are right, now
  */
final private[http] class AuthorizationAdmission(challenge: String, expected: CurrentSecrets) extends Admission {

  override def head(header: String => Option[String]): Option[Refusal] = {
    val found = header("Authorization").map(_.trim).map { value =>
      val (scheme, credential) = value.span(_ != ' ')
      (scheme, credential.trim.getBytes(ISO_8859_1))
    }
    val right = found.exists { case (scheme, credential) =>
      scheme.equalsIgnoreCase(challenge.takeWhile(_ != ' ')) &&
      expected.read().map(MessageDigest.isEqual(_, credential)).foldLeft(false)(_ || _)
    }
    Option.when(!right)(Refusal(401, "unauthorized", "unauthorized", headers = Seq("WWW-Authenticate" -> challenge)))
  }

  override def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Refusal] = None

  override def provesWithoutBody: Boolean = true
}
