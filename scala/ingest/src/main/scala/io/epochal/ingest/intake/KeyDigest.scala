package io.epochal.ingest.intake

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** Digest of an idempotency key: the first 16 bytes of its SHA-256. */
final private[epochal] case class KeyDigest(high: Long, low: Long)

private[epochal] object KeyDigest {
  def of(key: String): KeyDigest = {
    val bytes = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8)))
    KeyDigest(bytes.getLong(), bytes.getLong())
  }
}
