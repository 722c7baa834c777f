package io.epochal.rest.http.request

import java.io.InputStream

/** The bytes of one answer. Used again for the next one: it grows to the largest answer and stays there.
  *
  * @param inMemory
  *   a larger answer lies in a file, and memory has its beginning only
  * @param partBytes
  *   how much of such a file memory is to take at a time
  */
final private[epochal] class BodyBuffer(inMemory: Int = Int.MaxValue, partBytes: Int = BodyBuffer.PartBytes)
    extends AutoCloseable {
  private var array = new Array[Byte](BodyBuffer.FirstSize)
  private var used = 0
  private var none = false
  private var large = Option.empty[AnswerFile]

  /** At least those of the answer; where it lies in a file, its first 64 KiB, or all that memory was to have of it. */
  def bytes: Array[Byte] = array

  /** Of the answer. */
  def length: Int = used

  /** Where the answer is too large for memory. */
  def file: Option[AnswerFile] = large

  /** Whether there was no answer to speak of: a status that is ignored, or 204. */
  def absent: Boolean = none

  /** @return
    *   true: nothing is all there was
    */
  def clear(): Boolean = {
    close()
    true
  }

  def markAbsent(): Unit = {
    close()
    none = true
  }

  /** Makes the buffer hold so many bytes, which are for the caller to fill in.
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
    *   false when there are more than `limit` bytes; `in` was then read no further than one byte past them
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

  /** Lets go of the answer. The buffer can be used again. */
  override def close(): Unit = {
    used = 0
    none = false
    large.foreach(_.close())
    large = None
  }

  /** Calls `block` with all bytes: an array, where in it they begin, and how many they are. */
  def foreachBlock(block: (Array[Byte], Int, Int) => Unit): Unit = large match {
    case None => block(array, 0, used)
    case Some(file) =>
      val bytes = new Array[Byte](BodyBuffer.FirstSize)
      Iterator.range(0, used, bytes.length).foreach { from =>
        val count = math.min(bytes.length, used - from)
        file.read(from, bytes, 0, count)
        block(bytes, 0, count)
      }
  }

  /** Whether it ends with a line break; so does an empty one. */
  def endsLine: Boolean = used == 0 || {
    val last = large.fold(array(used - 1)) { file =>
      val byte = new Array[Byte](1)
      file.read(used - 1, byte, 0, 1)
      byte(0)
    }
    last == '\n' || last == '\r'
  }

  /** The beginning, for a message. */
  def head(characters: Int): String =
    new String(
      array,
      0,
      math.min(math.min(used, array.length), characters * 4),
      java.nio.charset.StandardCharsets.UTF_8).take(characters)

  private def grow(limit: Long): Unit =
    array = java.util.Arrays.copyOf(array, math.min(array.length * 2L, limit + 1).toInt)

  /** Into a file, behind what memory has. */
  private def readOn(in: InputStream, limit: Long): Unit = {
    val file = AnswerFile.create(partBytes)
    large = Some(file)
    file.append(array, used)
    if (array.length > BodyBuffer.FirstSize) array = java.util.Arrays.copyOf(array, BodyBuffer.FirstSize)
    val block = new Array[Byte](BodyBuffer.FirstSize)
    var count = 0
    while (count >= 0 && used <= limit) {
      count = in.read(block, 0, math.min(block.length.toLong, limit + 1 - used).toInt)
      if (count > 0) {
        file.append(block, count)
        used += count
      }
    }
  }
}

private[epochal] object BodyBuffer {
  private val FirstSize = 64 << 10
  private val PartBytes = 1 << 20

  /** What memory has of a page: many times what pages have. */
  private val PageInMemory = 8 << 20

  /** For a page of records. */
  def ofPage(): BodyBuffer = new BodyBuffer(PageInMemory)

  /** The largest array that every JVM can make, less the byte that shows that there is more. */
  val MaxBytes: Long = Int.MaxValue - 9L
}
