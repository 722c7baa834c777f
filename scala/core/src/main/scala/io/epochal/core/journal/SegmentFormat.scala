package io.epochal.core.journal

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.{US_ASCII, UTF_8}
import java.util.zip.CRC32C

/** The bytes of a segment. Numbers are big-endian, and counts unsigned; u4 has four bytes, u8 eight.
  *
  * {{{
  * header   "EPOCHALJ"                 8 bytes of ASCII
  *          version                    u4, 1
  *          first row                  u8
  *          source                     u4 bytes, then so many bytes of UTF-8
  * frame*   length of the payload      u4
  *          crc                        u4, CRC-32C of rows and payload
  *          rows                       u4, at least 1
  *          payload
  * index    frames                     u4
  *          per frame                  length u4, crc u4, rows u4: as in the frame
  *          crc                        u4, CRC-32C of the header and the index up to here
  * }}}
  *
  * The file ends with its index. The offset holds the position of the index, the length of the file, and the last crc.
  */
private[journal] object SegmentFormat {
  val Version = 1

  /** Bytes of a frame before its payload. */
  val FrameHead: Int = 12

  private val Magic = "EPOCHALJ".getBytes(US_ASCII)
  private val FixedHeader = Magic.length + 4 + 8 + 4
  private val IndexEntry = 12
  private val MaxSource = 1 << 20

  def header(source: String, from: Long): Array[Byte] = {
    val name = source.getBytes(UTF_8)
    ByteBuffer
      .allocate(FixedHeader + name.length)
      .put(Magic)
      .putInt(Version)
      .putLong(from)
      .putInt(name.length)
      .put(name)
      .array()
  }

  def frameCrc(rows: Int, bytes: Array[Byte], from: Int, length: Int): Int = {
    val crc = new CRC32C
    crc.update(rows >>> 24)
    crc.update(rows >>> 16)
    crc.update(rows >>> 8)
    crc.update(rows)
    crc.update(bytes, from, length)
    crc.getValue.toInt
  }

  def frameHead(length: Int, crc: Int, rows: Int): Array[Byte] =
    ByteBuffer.allocate(FrameHead).putInt(length).putInt(crc).putInt(rows).array()

  /** The index with its crc at the end. */
  def index(header: Array[Byte], frames: Seq[Frame]): Array[Byte] = {
    val bytes = ByteBuffer.allocate(4 + frames.size * IndexEntry + 4).putInt(frames.size)
    frames.foreach(frame => bytes.putInt(frame.length).putInt(frame.crc).putInt(frame.rows))
    bytes.putInt(crcOf(header, bytes.array(), bytes.position())).array()
  }

  /** The last four bytes of an index. */
  def crcIn(index: Array[Byte]): Int = ByteBuffer.wrap(index).getInt(index.length - 4)

  /** The frames of a segment, read from its file and checked against the offset.
    *
    * @throws JournalDamage
    *   if the file is not the one that was written
    */
  def frames(file: FileInput, segment: Segment, source: String): IndexedSeq[Frame] = {
    def damage(reason: String) = new JournalDamage(segment.name, reason)
    if (file.length < segment.bytes) throw damage(s"it ends after ${file.length} of ${segment.bytes} bytes")
    val header = headerOf(file, segment, source)
    val index = new Array[Byte](indexLength(segment))
    file.read(segment.index, index, 0, index.length)
    if (crcIn(index) != segment.crc || crcOf(header, index, index.length - 4) != segment.crc)
      throw damage("its index is not the one that was written")
    val bytes = ByteBuffer.wrap(index)
    var position = header.length.toLong
    var first = segment.from
    val frames = IndexedSeq.fill(bytes.getInt()) {
      val (length, crc, rows) = (bytes.getInt(), bytes.getInt(), bytes.getInt())
      val frame = Frame(position + FrameHead, length, first, rows, crc)
      position += FrameHead + length
      first += rows
      frame
    }
    if (first != segment.until || position != segment.index) throw damage("its index does not add up to what it holds")
    frames
  }

  private def indexLength(segment: Segment): Int = {
    val length = segment.bytes - segment.index
    if (length < 8 || length > Int.MaxValue || (length - 8) % IndexEntry != 0)
      throw new JournalDamage(segment.name, s"an index of $length bytes cannot be")
    length.toInt
  }

  private def headerOf(file: FileInput, segment: Segment, source: String): Array[Byte] = {
    def damage(reason: String) = new JournalDamage(segment.name, reason)
    if (segment.index < FixedHeader) throw damage("it has no header")
    val prefix = new Array[Byte](FixedHeader)
    file.read(0, prefix, 0, prefix.length)
    val fields = ByteBuffer.wrap(prefix, Magic.length, FixedHeader - Magic.length)
    if (!prefix.startsWith(Magic)) throw damage("it is not a segment")
    val version = fields.getInt()
    if (version != Version) throw damage(s"it has version $version, and this release reads version $Version")
    val from = fields.getLong()
    if (from != segment.from) throw damage(s"it begins with row $from and not ${segment.from}")
    val length = fields.getInt()
    if (length < 0 || length > MaxSource || FixedHeader.toLong + length > segment.index)
      throw damage("its header is damaged")
    val header = java.util.Arrays.copyOf(prefix, FixedHeader + length)
    file.read(FixedHeader.toLong, header, FixedHeader, length)
    val owner = new String(header, FixedHeader, length, UTF_8)
    if (owner != source) throw damage(s"it belongs to the source '$owner'")
    header
  }

  private def crcOf(header: Array[Byte], index: Array[Byte], length: Int): Int = {
    val crc = new CRC32C
    crc.update(header)
    crc.update(index, 0, length)
    crc.getValue.toInt
  }
}
