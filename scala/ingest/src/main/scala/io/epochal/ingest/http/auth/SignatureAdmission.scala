package io.epochal.ingest.http.auth

import java.security.MessageDigest
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import io.epochal.ingest.http.body.Refusal

/** Admits what a sender of webhooks signed with a secret that it shares with us. */
final private[http] class SignatureAdmission(kind: WebhookSignature, secrets: CurrentSecrets) extends Admission {

  override def head(header: String => Option[String]): Option[Refusal] =
    Option.when(kind.of(header).isEmpty)(SignatureAdmission.refusal)

  override def body(header: String => Option[String], bytes: Array[Byte], length: Int): Option[Refusal] = {
    val right = kind.of(header).exists { signed =>
      secrets.read().foldLeft(false) { (found, secret) =>
        val expected = hmac(secret, signed.prefix, bytes, length)
        signed.signatures.foldLeft(found)((before, signature) => MessageDigest.isEqual(expected, signature) || before)
      }
    }
    Option.when(!right)(SignatureAdmission.refusal)
  }

  override def provesWithoutBody: Boolean = false

  private def hmac(secret: Array[Byte], prefix: Array[Byte], bytes: Array[Byte], length: Int): Array[Byte] = {
    val mac = Mac.getInstance(kind.algorithm)
    mac.init(new SecretKeySpec(secret, kind.algorithm))
    mac.update(prefix)
    mac.update(bytes, 0, length)
    mac.doFinal()
  }
}

private object SignatureAdmission {
  val refusal: Refusal = Refusal(403, "forbidden", "forbidden")
}
