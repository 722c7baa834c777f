package io.epochal.ingest.intake

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.time.Duration
import java.util.LinkedHashMap

/** Digest of an idempotency key: the first 16 bytes of its SHA-256. */
final private[epochal] case class KeyDigest(high: Long, low: Long)

private[epochal] object KeyDigest {
  def of(key: String): KeyDigest = {
    val bytes = ByteBuffer.wrap(MessageDigest.getInstance("SHA-256").digest(key.getBytes(UTF_8)))
    KeyDigest(bytes.getLong(), bytes.getLong())
  }
}

/** Idempotency keys that were stored within the window, with their times. Not thread-safe, except `size`.
  *
  * Each new journal segment begins with a copy of them, so a key is remembered for the whole window, across restarts and after its
  * rows were removed.
  *
  * @param window
  *   0: keys are not remembered
  */
final private[intake] class LiveKeys(window: Duration) {
  private val windowMicros = window.toMillis * 1000L
  private val stored = new LinkedHashMap[KeyDigest, Long]

  @volatile private var count = 0

  def size: Int = count

  /** Whether the key was stored within the window before `now`, in microseconds since 1970. */
  def knows(key: KeyDigest, now: Long): Boolean = {
    val at = stored.getOrDefault(key, Long.MinValue)
    at != Long.MinValue && now - at < windowMicros
  }

  def add(key: KeyDigest, at: Long): Unit = {
    stored.remove(key): Unit // Reinserted at the end.
    stored.put(key, at): Unit
    count = stored.size
  }

  /** Removes keys that are older than the window. */
  def expire(now: Long): Unit = {
    val oldest = stored.entrySet.iterator
    var due = true
    while (due && oldest.hasNext) {
      due = now - oldest.next().getValue >= windowMicros
      if (due) oldest.remove()
    }
    count = stored.size
  }

  /** 24 bytes per key: digest and time. */
  def toBytes: Array[Byte] = {
    val bytes = ByteBuffer.allocate(24 * stored.size)
    stored.forEach((key, at) => bytes.putLong(key.high).putLong(key.low).putLong(at): Unit)
    bytes.array
  }

  def addAll(bytes: Array[Byte]): Unit = {
    val all = ByteBuffer.wrap(bytes)
    while (all.remaining >= 24) add(KeyDigest(all.getLong(), all.getLong()), all.getLong())
  }
}
