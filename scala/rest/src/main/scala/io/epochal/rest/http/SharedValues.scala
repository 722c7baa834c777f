package io.epochal.rest.http

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.time.Duration
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.collection.mutable

/** Values that the queries of a JVM share: connections, budgets, tokens. A value exists while it is in use. An unused
  * value is kept for a while, or evicted earlier, least recently used first, if there are more than `capacity`.
  *
  * A value's identity may be secret and is not stored: the key is its [[Fingerprint]]. Thread-safe.
  *
  * @param keep
  *   how long an unused value is kept
  * @param discard
  *   called once for each evicted value
  */
final private[http] class SharedValues[V](
    capacity: Int,
    keep: V => Duration,
    discard: V => Unit = (_: V) => (),
    nanos: () => Long = () => System.nanoTime()) {
  final private class Slot(val value: V) {
    var users = 0
    var idleSince = 0L
  }

  /** Least recently opened first. */
  private val slots = mutable.LinkedHashMap.empty[Fingerprint, Slot]

  /** The value of that identity, for use until the lease is closed.
    *
    * @param identity
    *   texts that identify the value; None differs from the empty text
    */
  def open(identity: Seq[Option[String]])(make: => V): Lease[V] = {
    val key = Fingerprint.of(identity)
    val slot = evicting {
      val slot = slots.remove(key).getOrElse(new Slot(make))
      slots(key) = slot
      slot.users += 1
      slot
    }
    new Lease(slot.value, () => leave(slot))
  }

  /** Number of values, including unused ones. */
  def size: Int = synchronized(slots.size)

  /** Forgets all values, as a new JVM does. */
  private[http] def clear(): Unit = synchronized(slots.clear())

  def inUse: Int = synchronized(slots.valuesIterator.count(_.users > 0))

  private def leave(slot: Slot): Unit = evicting {
    slot.users -= 1
    slot.idleSince = nanos()
  }

  /** Runs `change` under the lock, and evicts values afterwards. */
  private def evicting[A](change: => A): A = {
    val (result, removals) = synchronized {
      val result = change
      val now = nanos()
      var tooMany = slots.size - capacity
      val removals = slots.filter { case (_, slot) =>
        val ends = slot.users == 0 && (tooMany > 0 || now - slot.idleSince > keep(slot.value).toNanos)
        if (ends) tooMany -= 1
        ends
      }
      slots --= removals.keys
      (result, removals.values)
    }
    removals.foreach(slot => discard(slot.value))
    result
  }
}

/** Identifies texts without revealing them: HMAC-SHA256 under a random key of this JVM, so that a guess cannot be
  * checked even against another JVM's heap dump.
  */
final private[http] case class Fingerprint(high: Long, low: Long)

private[http] object Fingerprint {

  private val key = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    new SecretKeySpec(bytes, "HmacSHA256")
  }

  /** Each text is preceded by its length, so that different sequences never have the same bytes. */
  def of(texts: Seq[Option[String]]): Fingerprint = {
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(key)
    texts.foreach { text =>
      val bytes = text.fold(Array.emptyByteArray)(_.getBytes(UTF_8))
      mac.update(ByteBuffer.allocate(4).putInt(if (text.isEmpty) -1 else bytes.length).array())
      mac.update(bytes)
    }
    val digest = ByteBuffer.wrap(mac.doFinal())
    Fingerprint(digest.getLong(), digest.getLong())
  }
}
