package io.epochal.ingest.http.body

import java.io.{ByteArrayInputStream, EOFException, InputStream}
import java.nio.ByteBuffer
import java.nio.charset.Charset
import java.util.Arrays
import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}
import java.util.zip.ZipException

import scala.annotation.tailrec
import scala.util.Using

import io.epochal.kit.gzip.GzipMembers
import io.epochal.kit.record.{BodyProblem, TextEncoding}

/** Memory limit for the bodies of all requests.
  *
  * @param makeRoom
  *   releases memory of another request for one of the given size; returns whether there was one to release
  */
final private[http] class BodyBudget(maxBytes: Long, makeRoom: Long => Boolean = _ => false) {
  private val used = new AtomicLong

  def usedBytes: Long = used.get

  def newBuffer(limit: Int): BodyBuffer = new BodyBuffer(this, limit)

  /** Reserves memory that is not a buffer's, until the result is closed. `close` is idempotent.
    *
    * @throws Problem
    *   the budget is exhausted
    */
  def charge(bytes: Int): AutoCloseable = {
    if (!take(bytes.toLong, bytes.toLong)) throw Problem.busy
    val closed = new AtomicBoolean
    () => if (closed.compareAndSet(false, true)) give(bytes.toLong)
  }

  /** @param size
    *   of the request, with these bytes
    */
  @tailrec
  private[body] def take(bytes: Long, size: Long): Boolean = {
    val granted = used.addAndGet(bytes) <= maxBytes
    if (!granted) give(bytes)
    granted || bytes <= maxBytes && makeRoom(size) && take(bytes, size)
  }

  private[body] def give(bytes: Long): Unit = used.addAndGet(-bytes): Unit
}

/** Received bytes of one body. Memory is reserved as bytes arrive, regardless of Content-Length. Not thread-safe, except `close`.
  *
  * @param limit
  *   maximum bytes of the body
  */
final private[http] class BodyBuffer private[body] (budget: BodyBudget, limit: Int) extends AutoCloseable {
  final private val FirstSize = 8 << 10
  final private val Block = 16 << 10
  final private val MaxMembers = 10000

  private var array = Array.emptyByteArray
  private var used = 0
  private var closed = false

  /** The body is at the beginning; the array may be longer. */
  def bytes: Array[Byte] = array

  def length: Int = used

  /** @throws Problem
    *   the body exceeds its limit, or the budget is exhausted
    */
  def append(from: ByteBuffer): Unit = {
    val count = from.remaining
    makeRoom(count)
    from.get(array, used, count)
    admit(count)
  }

  /** Decompresses a gzip body into this empty buffer, and stops as soon as it exceeds the limit.
    *
    * @throws Problem
    *   the body is not gzip, is truncated, or becomes too large
    */
  def inflate(packedBody: BodyBuffer): Unit =
    try Using.resource(new GzipMembers(packedBody.stream, Long.MaxValue, MaxMembers))(fill(_))
    catch {
      case e @ (_: ZipException | _: EOFException | _: GzipMembers.TooManyMembers) =>
        throw Problem.malformed(s"the body cannot be decompressed: ${e.getMessage}", None, None)
    }

  /** Converts text into UTF-8, into this empty buffer.
    *
    * @param charset
    *   the declared one
    * @throws Problem
    *   the text is compressed, is not in its charset, or becomes too large
    */
  def decode(text: BodyBuffer, charset: Option[Charset]): Unit =
    try fill(TextEncoding.utf8(text.stream, charset, Long.MaxValue))
    catch { case e: BodyProblem => throw Problem.malformed(s"the body cannot be read: ${e.getMessage}", None, None) }

  /** Releases the memory; the bytes must not be used afterwards. Idempotent. */
  override def close(): Unit = synchronized {
    if (!closed) budget.give(array.length.toLong)
    closed = true
  }

  private def stream: InputStream = new ByteArrayInputStream(array, 0, used)

  private def fill(in: InputStream): Unit = {
    var count = 0
    while (count >= 0) {
      if (used == array.length) makeRoom(math.min(Block, limit - used + 1))
      count = in.read(array, used, array.length - used)
      if (count > 0) admit(count)
    }
  }

  private def admit(count: Int): Unit = {
    used += count
    if (used > limit) throw tooLarge
  }

  private def makeRoom(count: Int): Unit = {
    if (count > limit - used + 1 || used > limit) throw tooLarge
    if (array.length - used < count) grow(used + count)
  }

  private def grow(least: Int): Unit = {
    val size = math.min(limit + 1L, math.max(least.toLong, array.length * 2L)).toInt max math.min(limit + 1, FirstSize)
    val more = size.toLong - array.length
    // Outside of the lock: to make room, the budget may close another buffer, or even this one.
    if (!budget.take(more, size.toLong)) throw Problem.busy
    synchronized {
      if (closed) {
        budget.give(more)
        throw Problem.busy
      }
      array = Arrays.copyOf(array, size)
    }
  }

  private def tooLarge: Problem = Problem.tooLarge(s"the body is larger than $limit bytes")
}
