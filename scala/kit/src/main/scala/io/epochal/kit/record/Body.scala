package io.epochal.kit.record

import java.io.InputStream
import java.nio.charset.Charset
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

/** The bytes of one response, message or file. Reused for the next one: it grows to the largest and keeps that size.
  *
  * @param inMemory
  *   a larger body is in a file, with only its beginning in memory
  * @param partBytes
  *   how much of such a file is in memory at a time
  */
final private[epochal] class Body(inMemory: Int = Int.MaxValue, partBytes: Int = Body.PartBytes) extends AutoCloseable {
  private var array = new Array[Byte](Body.FirstSize)
  private var used = 0
  private var none = false
  private var large = Option.empty[BodyFile]
  private var reshaped = false

  /** Takes the rewritten bytes, and is then swapped with this one. */
  private lazy val other = new Body(inMemory, partBytes)

  /** At least the body's bytes; if it is in a file, its first 64 KiB, or all bytes that may be in memory. */
  def bytes: Array[Byte] = array

  def length: Int = used

  /** The file of a body that is too large for memory. */
  def file: Option[BodyFile] = large

  /** Whether there is no body, and so no record. */
  def absent: Boolean = none

  /** Whether the bytes are the result of `rewrite`. */
  def rewritten: Boolean = reshaped

  private[record] def source: ByteSource = large.getOrElse(piece)

  /** Replaces the bytes by what `write` adds to another body; if it throws, they stay. */
  private[record] def rewrite(write: (ByteSource, Body) => Unit): Unit = {
    other.close()
    try write(source, other)
    catch {
      case e: Throwable =>
        other.close()
        throw e
    }
    val bytes = array
    close()
    array = other.array
    used = other.used
    large = other.large
    other.array = bytes
    other.used = 0
    other.large = None
    reshaped = true
  }

  /** Adds bytes of UTF-8. */
  private[record] def append(text: String): Unit = {
    val bytes = text.getBytes(UTF_8)
    append(bytes, 0, bytes.length)
  }

  private[record] def append(from: ByteSource, start: Int, until: Int): Unit = from match {
    case piece: Piece => append(piece.bytes, start, until - start)
    case file =>
      Iterator.range(start, until, Body.FirstSize).foreach { at =>
        val bytes = file.slice(at, math.min(until, at + Body.FirstSize))
        append(bytes, 0, bytes.length)
      }
  }

  private[record] def append(bytes: Array[Byte], from: Int, count: Int): Unit = {
    val end = used.toLong + count
    if (end > Body.MaxBytes) throw new BodyProblem(s"its records have more than ${Body.MaxBytes} bytes")
    if (large.isEmpty && end > inMemory) spill(): Unit
    large match {
      case Some(file) => file.append(bytes, from, count)
      case None =>
        if (end > array.length)
          array = Arrays.copyOf(array, math.max(end, math.min(array.length * 2L, inMemory.toLong)).toInt)
        System.arraycopy(bytes, from, array, used, count)
    }
    used = end.toInt
  }

  /** Empties it.
    *
    * @return
    *   true: an empty body is complete
    */
  def clear(): Boolean = {
    close()
    true
  }

  def markAbsent(): Unit = {
    close()
    none = true
  }

  /** Makes room for this many bytes, which the caller fills in.
    *
    * @return
    *   an array of at least that length
    */
  def reserve(length: Int): Array[Byte] = {
    close()
    if (array.length < length) array = new Array[Byte](length)
    used = length
    array
  }

  /** Reads to the end of `in`.
    *
    * @param limit
    *   up to `MaxBytes`
    * @return
    *   false if there are more than `limit` bytes; `in` was then read at most one byte past them
    */
  def readFrom(in: InputStream, limit: Long): Boolean = {
    close()
    val most = math.min(limit, inMemory.toLong)
    var count = 0
    while (count >= 0 && used <= most) {
      if (used == array.length) grow(most)
      count = in.read(array, used, math.min(array.length.toLong, most + 1).toInt - used)
      if (count > 0) used += count
    }
    if (used > most && most < limit)
      try readOn(in, limit)
      catch {
        case e: Throwable =>
          close()
          throw e
      }
    used <= limit
  }

  /** Reads text to the end of `in`, as UTF-8.
    *
    * @param limit
    *   as of `readFrom`, in UTF-8
    * @param charset
    *   the declared one
    * @throws BodyProblem
    *   if the text is compressed, or is not in its charset
    */
  def readText(in: InputStream, limit: Long, charset: Option[Charset]): Boolean =
    readFrom(TextEncoding.utf8(in, charset, limit * Body.BytesOfAscii), limit)

  /** Releases the bytes. It can be reused. */
  override def close(): Unit = {
    used = 0
    none = false
    reshaped = false
    large.foreach(_.close())
    large = None
  }

  /** Whether it is empty or ends with a line break. */
  def endsLine: Boolean = used == 0 || {
    val last = large.fold(array(used - 1)) { file =>
      val byte = new Array[Byte](1)
      file.read(used - 1, byte, 0, 1)
      byte(0)
    }
    last == '\n' || last == '\r'
  }

  /** Overwrites the first bytes with line breaks, which every format skips: the records begin after them. */
  def blank(count: Int): Unit = Arrays.fill(array, 0, count, '\n'.toByte)

  /** The part in memory. */
  def piece: Piece = new Piece(array, math.min(used, array.length))

  /** The beginning, for a message. */
  def head(characters: Int): String =
    new String(array, 0, math.min(math.min(used, array.length), characters * 4), UTF_8).take(characters)

  private def grow(limit: Long): Unit =
    array = Arrays.copyOf(array, math.min(array.length * 2L, limit + 1).toInt)

  /** Writes the rest into a file, after the bytes in memory. */
  private def readOn(in: InputStream, limit: Long): Unit = {
    val file = spill()
    val block = new Array[Byte](Body.FirstSize)
    var count = 0
    while (count >= 0 && used <= limit) {
      count = in.read(block, 0, math.min(block.length.toLong, limit + 1 - used).toInt)
      if (count > 0) {
        file.append(block, 0, count)
        used += count
      }
    }
  }

  /** Moves the bytes so far into a file; the first of them stay in memory, too. */
  private def spill(): BodyFile = {
    val file = BodyFile.create(partBytes)
    large = Some(file)
    file.append(array, 0, used)
    if (array.length > Body.FirstSize) array = Arrays.copyOf(array, Body.FirstSize)
    file
  }
}

private[epochal] object Body {
  private val FirstSize = 64 << 10

  /** In UTF-32. */
  private val BytesOfAscii = 4L
  private val PartBytes = 1 << 20

  /** The maximum of a page in memory: many times the usual page. */
  private val PageInMemory = 8 << 20

  /** A body for a page of records. */
  def ofPage(): Body = new Body(PageInMemory)

  /** The largest array on any JVM, less the byte that shows that there is more. */
  val MaxBytes: Long = Int.MaxValue - 9L
}
