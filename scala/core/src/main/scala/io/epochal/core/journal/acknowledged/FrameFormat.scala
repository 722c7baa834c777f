package io.epochal.core.journal.acknowledged

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.util.zip.CRC32C

import io.epochal.core.journal.{Frame, JournalDamage}

/** The bytes of a segment of the [[AcknowledgedJournal]]. Numbers are big-endian, and counts unsigned; u4 has four bytes, u8
  * eight.
  *
  * {{{
  * header   "EPOCHALA"                 8 bytes of ASCII
  *          version                    u4: 1; 2 in files that were created conditionally (A11)
  *          first row                  u8
  *          mark                       8 random bytes, other ones in each run
  *          source                     u4 bytes, then so many bytes of UTF-8
  *          crc                        u4, CRC-32C of the header up to here
  * frame*   mark                       as in the header
  *          first row                  u8
  *          length of the payload      u4
  *          crc                        u4, CRC-32C of rows and payload, as in a segment of the Journal
  *          rows                       u4
  *          crc                        u4, CRC-32C of the frame up to here
  *          payload
  * }}}
  *
  * A frame without rows holds the state that the writer carries over from earlier segments; if present, it is the first of its
  * segment. A segment has no end mark: it ends at the first broken frame, or where the next segment begins.
  */
private[acknowledged] object FrameFormat {
  val Version = 1

  /** Releases that do not close earlier runs with a barrier must not take over from their writer (A11). */
  val ConditionalVersion = 2

  /** Bytes of a frame before its payload. */
  val HeadLength = 32

  private val Magic = "EPOCHALA".getBytes(US_ASCII)
  private val FixedHeader = Magic.length + 4 + 8 + 8 + 4
  private val MaxSource = 1 << 20

  def header(version: Int, mark: Long, from: Long, source: String): Array[Byte] = {
    val name = source.getBytes(UTF_8)
    val bytes = ByteBuffer
      .allocate(FixedHeader + name.length + 4)
      .put(Magic)
      .putInt(version)
      .putLong(from)
      .putLong(mark)
      .putInt(name.length)
      .put(name)
    bytes.putInt(crcOf(bytes.array, bytes.position())).array
  }

  def head(mark: Long, frame: Frame): Array[Byte] = {
    val bytes = ByteBuffer
      .allocate(HeadLength)
      .putLong(mark)
      .putLong(frame.first)
      .putInt(frame.length)
      .putInt(frame.crc)
      .putInt(frame.rows)
    bytes.putInt(crcOf(bytes.array, bytes.position())).array
  }

  /** Decodes a frame's head; None if it is not the head of a frame with this mark.
    *
    * @param position
    *   of its payload
    */
  def readHead(head: Array[Byte], mark: Long, position: Long): Option[Frame] = {
    val fields = ByteBuffer.wrap(head)
    val (ours, first) = (fields.getLong() == mark, fields.getLong())
    val (length, crc, rows) = (fields.getInt(), fields.getInt(), fields.getInt())
    Option.when(ours && fields.getInt() == crcOf(head, HeadLength - 4))(Frame(position, length, first, rows, crc))
  }

  /** Reads the header at the beginning of a file.
    *
    * @param read
    *   returns bytes of the file, from a position on; None if it ends before
    * @return
    *   None: the header is incomplete
    * @throws JournalDamage
    *   if it is complete, and this release must not read on
    */
  def readHeader(read: (Long, Int) => Option[Array[Byte]], name: String, source: String): Option[Header] =
    for {
      prefix <- read(0, FixedHeader)
      if prefix.startsWith(Magic)
      fields = ByteBuffer.wrap(prefix, Magic.length, FixedHeader - Magic.length)
      version = fields.getInt()
      from = fields.getLong()
      mark = fields.getLong()
      length = fields.getInt()
      if from >= 0 && length >= 0 && length <= MaxSource
      whole <- read(0, FixedHeader + length + 4)
      if ByteBuffer.wrap(whole).getInt(whole.length - 4) == crcOf(whole, whole.length - 4)
      owner = new String(whole, FixedHeader, length, UTF_8)
    } yield
      if (version != Version && version != ConditionalVersion)
        throw new JournalDamage(name, s"it has version $version, and this release reads up to $ConditionalVersion")
      else if (owner != source) throw new JournalDamage(name, s"it belongs to the source '$owner'", Some(owner))
      else Header(from, mark, whole.length)

  private def crcOf(bytes: Array[Byte], length: Int): Int = {
    val crc = new CRC32C
    crc.update(bytes, 0, length)
    crc.getValue.toInt
  }
}
