package io.epochal.kit.gzip

import java.io.{EOFException, IOException, InputStream}
import java.util.zip.{CRC32, DataFormatException, Inflater, ZipException}

/** Decompresses gzip (RFC 1952), one member after another, in bounded memory and without recursion: the JDK's decoder recurses
  * for each empty member.
  *
  * If the input ends within a member, it is truncated. Bytes after the last member that do not begin another one are ignored,
  * zero padding or not, as gzip(1) and browsers do. The input is always read to its end.
  *
  * @param maxCompressed
  *   the maximum number of input bytes
  * @throws EOFException
  *   from `read`: the input is truncated
  * @throws ZipException
  *   from `read`: the input is damaged, or is not gzip
  * @throws GzipMembers.TooManyMembers
  *   from `read`: the input has more members than `maxMembers`
  * @throws GzipMembers.TooLong
  *   from `read`: the input has more than `maxCompressed` bytes
  */
final private[epochal] class GzipMembers(
    in: InputStream,
    maxCompressed: Long,
    maxMembers: Int = GzipMembers.MaxMembers
) extends InputStream {
  import GzipMembers._

  private val inflater = new Inflater(true)
  private val crc = new CRC32
  private val buffer = new Array[Byte](BufferSize)
  private var at = 0
  private var end = 0
  private var compressedBytes = 0L
  private var members = 0
  private var within = false
  private var done = false

  override def read(into: Array[Byte], offset: Int, count: Int): Int = {
    var length = 0
    while (length == 0 && count > 0 && !done)
      if (!within) beginMember()
      else {
        length = inflate(into, offset, count)
        if (length == 0 && inflater.finished) endMember()
      }
    if (length == 0 && count > 0) -1 else length
  }

  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  /** Releases the decoder's memory; the input stays open. */
  override def close(): Unit = {
    done = true
    inflater.end()
  }

  private def inflate(into: Array[Byte], offset: Int, count: Int): Int =
    try {
      val length = inflater.inflate(into, offset, count)
      if (length > 0) crc.update(into, offset, length)
      else if (inflater.needsDictionary) throw new ZipException("it needs a dictionary")
      else if (inflater.needsInput && !inflater.finished) {
        if (!fill()) throw cut
        inflater.setInput(buffer, 0, end)
      }
      length
    } catch { case e: DataFormatException => throw new ZipException(e.getMessage) }

  private def beginMember(): Unit = {
    crc.reset()
    val begins = byte() match {
      case -1         => if (members == 0) throw cut else false
      case FirstMagic => octet() == SecondMagic
      case _          => false
    }
    if (begins) {
      members += 1
      if (members > maxMembers)
        throw new TooManyMembers(maxMembers)
      crc.update(FirstMagic)
      crc.update(SecondMagic)
      passHeader()
      crc.reset()
      inflater.setInput(buffer, at, end - at)
      within = true
    } else if (members == 0) throw new ZipException("it is not gzip")
    else {
      while (fill()) {}
      done = true
    }
  }

  private def passHeader(): Unit = {
    if (header() != Deflate) throw new ZipException("its compression method is unknown")
    val flags = header()
    if ((flags & Reserved) != 0) throw new ZipException("its header has flags that are reserved")
    pass(6) // Time, extra flags and operating system.
    if ((flags & HasExtra) != 0) pass(header() | header() << 8)
    if ((flags & HasName) != 0) while (header() != 0) {}
    if ((flags & HasComment) != 0) while (header() != 0) {}
    if ((flags & HasHeaderCrc) != 0) {
      val sum = crc.getValue & 0xffff
      if ((octet() | octet() << 8).toLong != sum)
        throw new ZipException("its header has another checksum")
    }
  }

  private def endMember(): Unit = {
    at = end - inflater.getRemaining
    if (number() != crc.getValue) throw new ZipException("its content has another checksum")
    if (number() != (inflater.getBytesWritten & 0xffffffffL)) throw new ZipException("its content has another length")
    inflater.reset()
    within = false
  }

  private def pass(bytes: Int): Unit = {
    var i = 0
    while (i < bytes) {
      header(): Unit
      i += 1
    }
  }

  /** A byte that the header's checksum covers. */
  private def header(): Int = {
    val value = octet()
    crc.update(value)
    value
  }

  /** A little-endian int32. */
  private def number(): Long = octet() | octet() << 8 | octet() << 16 | octet().toLong << 24

  private def octet(): Int = {
    val value = byte()
    if (value < 0) throw cut
    value
  }

  /** -1 at the end of the input. */
  private def byte(): Int =
    if (at == end && !fill()) -1
    else {
      val value = buffer(at) & 0xff
      at += 1
      value
    }

  /** Fills the buffer.
    *
    * @return
    *   false at the end of the input
    */
  private def fill(): Boolean = {
    at = 0
    end = math.max(0, in.read(buffer, 0, buffer.length))
    compressedBytes += end
    if (compressedBytes > maxCompressed) throw new TooLong
    end > 0
  }

  private def cut: EOFException = new EOFException("its gzip has no end")
}

private[epochal] object GzipMembers {

  /** Many times the members of files that were concatenated from blocks or from records compressed one by one. */
  val MaxMembers = 1000000

  /** The input exceeds `maxCompressed`. */
  final class TooLong extends ZipException

  /** The input has more members than any sound file. */
  final class TooManyMembers(limit: Int) extends IOException(s"its gzip has more than $limit members")

  private val BufferSize = 16 << 10

  final private val FirstMagic = 0x1f
  final private val SecondMagic = 0x8b
  final private val Deflate = 8
  final private val HasHeaderCrc = 0x02
  final private val HasExtra = 0x04
  final private val HasName = 0x08
  final private val HasComment = 0x10
  final private val Reserved = 0xe0
}
