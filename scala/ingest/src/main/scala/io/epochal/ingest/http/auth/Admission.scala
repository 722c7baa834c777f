package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.security.MessageDigest
import java.util.concurrent.TimeUnit.SECONDS
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.ingest.http.body.Refusal
import io.epochal.kit.access.Secret

/** Authorizes requests with records. Refusals do not say which check failed. Thread-safe. */
private[http] trait Admission {

  /** Checks the head, before the body is read.
    *
    * @param header
    *   the value of a header; None if it is missing or repeated
    * @return
    *   None: not refused so far
    */
  def head(header: String => Option[String]): Option[Refusal] = None

  /** Checks the body as transferred, before decompression.
    *
    * @param length
    *   of the body, which begins at index 0
    */
  def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Refusal] = None

  /** Whether a request without a body can be authenticated. */
  def provesWithoutBody: Boolean = true
}

/** No credentials are required. */
private[http] object OpenAdmission extends Admission

/** Basic (RFC 7617) or bearer (RFC 6750) authorization. Compares with every valid credential, each in constant time.
  *
  * @param expected
  *   the valid credentials
  */
final private[http] class AuthorizationAdmission(challenge: String, expected: CurrentSecrets) extends Admission {

  override def head(header: String => Option[String]): Option[Refusal] = {
    val isValid = header("Authorization").map(_.trim).exists { value =>
      val (scheme, credential) = value.span(_ != ' ')
      val bytes = credential.trim.getBytes(ISO_8859_1)
      scheme.equalsIgnoreCase(challenge.takeWhile(_ != ' ')) &&
      expected.read().map(MessageDigest.isEqual(_, bytes)).foldLeft(false)(_ || _)
    }
    Option.when(!isValid)(Refusal(401, "unauthorized", "unauthorized", headers = Seq("WWW-Authenticate" -> challenge)))
  }
}

/** Admits webhooks that are signed with a shared secret. */
final private[http] class SignatureAdmission(kind: WebhookSignature, secrets: CurrentSecrets) extends Admission {

  override def head(header: String => Option[String]): Option[Refusal] = refusal(kind.of(header).nonEmpty)

  override def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Refusal] =
    refusal(kind.of(header).exists { signed =>
      secrets.read().foldLeft(false) { (found, secret) =>
        val expected = hmac(secret, signed.prefix, bytes, length)
        signed.signatures.foldLeft(found)((before, signature) => MessageDigest.isEqual(expected, signature) || before)
      }
    })

  override def provesWithoutBody: Boolean = false

  private def refusal(isValid: Boolean) = Option.when(!isValid)(Refusal(403, "forbidden", "forbidden"))

  private def hmac(secret: Array[Byte], prefix: Array[Byte], bytes: Array[Byte], length: Int): Array[Byte] = {
    val mac = Mac.getInstance(kind.algorithm)
    mac.init(new SecretKeySpec(secret, kind.algorithm))
    mac.update(prefix)
    mac.update(bytes, 0, length)
    mac.doFinal()
  }
}

/** The valid secrets: the current one and, during a rotation, the previous one. They are reread after a few seconds, so a changed
  * file takes effect without a restart. `toString` does not contain them.
  *
  * @param made
  *   converts a secret to the bytes that are compared
  */
final private[http] class CurrentSecrets(
    secrets: Seq[Secret],
    made: String => Array[Byte],
    nanoTime: () => Long = () => System.nanoTime()) {

  @volatile private var last = (nanoTime(), readNow())

  /** Empty if a secret cannot be read: then every request is refused. */
  def read(): Seq[Array[Byte]] = {
    val now = nanoTime()
    if (now - last._1 > CurrentSecrets.RefreshNanos)
      last = (
        now,
        try readNow()
        catch {
          case e: EpochalException =>
            if (last._2.nonEmpty) CurrentSecrets.log.warn(s"Every request is refused until this is fixed: ${e.problem}")
            Nil
        })
    last._2
  }

  private def readNow(): Seq[Array[Byte]] = secrets.map(secret => made(secret.read()))
}

private object CurrentSecrets {
  private val log = LoggerFactory.getLogger("io.epochal.ingest.http.auth.CurrentSecrets")
  private val RefreshNanos = SECONDS.toNanos(5)
}
