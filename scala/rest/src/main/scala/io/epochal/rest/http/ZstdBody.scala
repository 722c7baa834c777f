package io.epochal.rest.http

import java.io.{FilterInputStream, InputStream}
import java.util.zip.ZipException

import com.github.luben.zstd.util.Native
import com.github.luben.zstd.{ZstdIOException, ZstdInputStreamNoFinalizer}

import io.epochal.kit.gzip.GzipMembers

/** Decompresses Zstandard (RFC 8878) by the codec of Spark's class path. The input stays open.
  *
  * @param maxCompressed
  *   the maximum number of input bytes
  * @throws ZipException
  *   from `read`: the input is cut, damaged, or needs more memory than a decoder must have
  * @throws GzipMembers.TooLong
  *   from `read`: the input has more than `maxCompressed` bytes
  */
final private[http] class ZstdBody(in: InputStream, maxCompressed: Long) extends InputStream {

  private val decoder = new ZstdInputStreamNoFinalizer(new FilterInputStream(in) {
    private var takenBytes = 0L

    override def read(into: Array[Byte], offset: Int, count: Int): Int = {
      val length = super.read(into, offset, count)
      takenBytes += math.max(0, length)
      if (takenBytes > maxCompressed) throw new GzipMembers.TooLong
      length
    }

    override def close(): Unit = ()
  }).setLongMax(ZstdBody.MaxWindow)

  override def read(into: Array[Byte], offset: Int, count: Int): Int =
    try decoder.read(into, offset, count)
    catch { case e: ZstdIOException => throw new ZipException(s"its zstd cannot be decoded: ${e.getMessage}") }

  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  override def close(): Unit = decoder.close()
}

private[http] object ZstdBody {

  /** Binary logarithm of the window that every decoder supports, 8 MiB. */
  private val MaxWindow = 23

  /** Whether the class path has the codec, and this machine its native library. */
  val isAvailable: Boolean =
    try {
      Native.load()
      true
    } catch { case _: LinkageError => false }
}
