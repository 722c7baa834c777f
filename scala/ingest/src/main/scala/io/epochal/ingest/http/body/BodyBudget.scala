package io.epochal.ingest.http.body

import java.nio.ByteBuffer
import java.util.Arrays
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

/** The memory that the bodies of all requests may take together. */
final private[http] class BodyBudget(maxBytes: Long) {
  private val used = new AtomicLong

  def usedBytes: Long = used.get

  def newBuffer(limit: Int): BodyBuffer = new BodyBuffer(this, limit)

  /** Takes memory that something else than a buffer has, until it is closed.
    *
    * @throws Refused
    *   there is none left
    */
  def charge(bytes: Int): AutoCloseable =
    if (take(bytes.toLong)) new Charge(this, bytes.toLong) else throw new Refused(Refusal.busy)

  private[body] def take(bytes: Long): Boolean = {
    val granted = used.addAndGet(bytes) <= maxBytes
    if (!granted) give(bytes)
    granted
  }

  private[body] def give(bytes: Long): Unit = {
    val _ = used.addAndGet(-bytes)
  }
}

/** Memory that was taken. Closed a second time, it does nothing. */
final private class Charge(budget: BodyBudget, bytes: Long) extends AutoCloseable {
  private val closed = new AtomicBoolean
  override def close(): Unit = if (closed.compareAndSet(false, true)) budget.give(bytes)
}

/** The bytes of one body as they come. Memory is taken as they come, whatever the client announces. Of one thread at a time,
  * but for `close`.
  *
  * @param limit
  *   the most bytes that the body may have
  */
final private[http] class BodyBuffer private[body] (budget: BodyBudget, limit: Int) extends AutoCloseable {
  private var array = Array.emptyByteArray
  private var used = 0
  private var closed = false

  /** At least those of the body. */
  def bytes: Array[Byte] = array

  def length: Int = used

  /** @throws Refused
    *   the body is larger than its limit, or there is no memory for it
    */
  def append(from: ByteBuffer): Unit = {
    val count = from.remaining
    makeRoom(count)
    from.get(array, used, count)
    added(count)
  }

  /** An array with room for so many bytes behind `length`; [[added]] says how many came. */
  def room(count: Int): Array[Byte] = {
    makeRoom(math.min(count, limit - used + 1))
    array
  }

  /** Bytes that can be put behind `length` without more room. */
  def free: Int = array.length - used

  def added(count: Int): Unit = {
    used += count
    if (used > limit) throw tooLarge
  }

  /** Gives the memory back. The bytes must be of no use any more; the second time it does nothing. */
  override def close(): Unit = synchronized {
    if (!closed) budget.give(array.length.toLong)
    closed = true
  }

  private def makeRoom(count: Int): Unit = {
    if (count > limit - used + 1 || used > limit) throw tooLarge
    if (array.length - used < count) grow(used + count)
  }

  private def grow(needed: Int): Unit = synchronized {
    val size = math.min(limit + 1L, math.max(needed.toLong, array.length * 2L)).toInt max math.min(
      limit + 1,
      BodyBuffer.FirstSize)
    if (closed || !budget.take(size.toLong - array.length)) throw new Refused(Refusal.busy)
    array = Arrays.copyOf(array, size)
  }

  private def tooLarge: Refused = new Refused(Refusal.tooLarge(s"the body is larger than $limit bytes"))
}

private object BodyBuffer {
  private val FirstSize = 8 << 10
}
