package io.epochal.rest.http.request

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.time.Duration
import java.util.concurrent.atomic.AtomicBoolean
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import scala.collection.mutable

/** What the queries of a JVM share: connections, budgets, tokens. A value is there while somebody uses it. One that nobody uses is
  * kept for a while, and is gone up earlier, the least recently used first, where there are more than `capacity`.
  *
  * What identifies a value may be secret, and is not held: the key is its [[Fingerprint]]. Threads may share this.
  *
  * @param keep
  *   how long a value is kept that nobody uses
  * @param discard
  *   called once for each value that is gone up
  */
final private[http] class SharedValues[V](
    capacity: Int,
    keep: V => Duration,
    discard: V => Unit = (_: V) => (),
    nanos: () => Long = () => System.nanoTime()) {
  import SharedValues._

  /** The least recently opened first. */
  private val slots = mutable.LinkedHashMap.empty[Fingerprint, Slot[V]]

  /** The value of that identity, for the caller to use until the lease is closed.
    *
    * @param identity
    *   texts that are the same for the same value; None is another one than the empty text
    */
  def open(identity: Seq[Option[String]])(make: => V): Lease[V] = {
    val key = Fingerprint.of(identity)
    val (slot, gone) = synchronized {
      val slot = slots.remove(key).getOrElse(new Slot(make))
      slots(key) = slot
      slot.users += 1
      (slot, excess())
    }
    gone.foreach(discard)
    new Lease(slot.value, () => leave(slot))
  }

  /** How many values there are, those included that nobody uses. */
  def size: Int = synchronized(slots.size)

  /** How many are used. */
  def inUse: Int = synchronized(slots.valuesIterator.count(_.users > 0))

  private def leave(slot: Slot[V]): Unit = {
    val gone = synchronized {
      slot.users -= 1
      slot.idleSince = nanos()
      excess()
    }
    gone.foreach(discard)
  }

  /** Takes out what is no longer kept. */
  private def excess(): Seq[V] = {
    val now = nanos()
    var tooMany = slots.size - capacity
    val gone = slots.iterator.filter { case (_, slot) =>
      val ends = slot.users == 0 && (tooMany > 0 || now - slot.idleSince > keep(slot.value).toNanos)
      if (ends) tooMany -= 1
      ends
    }.toVector
    gone.map { case (key, slot) =>
      slots.remove(key): Unit
      slot.value
    }
  }
}

private[http] object SharedValues {

  final private class Slot[V](val value: V) {
    var users = 0
    var idleSince = 0L
  }
}

/** A value that is used until this is closed. */
final private[http] class Lease[V](val value: V, release: () => Unit) extends AutoCloseable {
  private val open = new AtomicBoolean(true)

  override def close(): Unit = if (open.compareAndSet(true, false)) release()
}

/** Stands for texts without telling them: HMAC-SHA256 under a random key that this JVM alone has, so that not even a guess can be
  * checked against a heap dump of another one.
  */
final private[http] case class Fingerprint(high: Long, low: Long)

private[http] object Fingerprint {

  private val key = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    new SecretKeySpec(bytes, "HmacSHA256")
  }

  /** Each text with its length before it, so that no two sequences are the same bytes. */
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
