package io.epochal.kit.record

import java.io.{BufferedInputStream, IOException, InputStream}
import java.nio.ByteBuffer
import java.nio.channels.{ClosedByInterruptException, FileChannel}
import java.nio.file.StandardOpenOption.{DELETE_ON_CLOSE, READ, WRITE}
import java.nio.file.{Files, Paths}

import com.fasterxml.jackson.core.JsonParser

import io.epochal.core.error.Conditions
import io.epochal.kit.json.Json

/** A body that is too large for memory, in a file in `java.io.tmpdir` that only its owner can read. If the system allows it,
  * the file has no name from the beginning, and so disappears with the process. One thread at a time.
  *
  * @param partBytes
  *   how much of it is in memory at a time
  * @throws EpochalException
  *   RESPONSE_FILE_FAILED, from each step
  */
final private[epochal] class BodyFile(channel: FileChannel, val partBytes: Int) extends ByteSource with AutoCloseable {
  import BodyFile.{StreamBuffer, kept}

  private var writtenBytes = 0

  override def length: Int = writtenBytes

  def append(bytes: Array[Byte], start: Int, count: Int): Unit = kept {
    val from = ByteBuffer.wrap(bytes, start, count)
    while (from.hasRemaining) channel.write(from)
    writtenBytes += count
  }

  override def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit = kept {
    val bytes = ByteBuffer.wrap(into, at, count)
    while (bytes.hasRemaining)
      if (channel.read(bytes, (from + bytes.position() - at).toLong) < 0) throw new IOException("it has become shorter")
  }

  /** It has its own buffer. */
  override def stream(from: Int, until: Int): InputStream = {
    val blocks = new InputStream {
      private var next = from

      override def read(into: Array[Byte], offset: Int, count: Int): Int = {
        val some = math.min(count, until - next)
        if (some > 0) BodyFile.this.read(next, into, offset, some)
        next += some
        if (some > 0 || count == 0) some else -1
      }

      override def read(): Int = throw new UnsupportedOperationException // The buffer reads many bytes at once.
    }
    new BufferedInputStream(blocks, math.max(1, math.min(StreamBuffer, until - from)))
  }

  override def parser(from: Int): JsonParser = Json.factory.createParser(stream(from, length))

  override def close(): Unit = channel.close()
}

private[epochal] object BodyFile {
  private val StreamBuffer = 64 << 10

  def create(partBytes: Int): BodyFile = kept {
    val path = Files.createTempFile("epochal-response-", ".part")
    try new BodyFile(FileChannel.open(path, READ, WRITE, DELETE_ON_CLOSE), partBytes)
    catch {
      case e: IOException =>
        Files.deleteIfExists(path): Unit
        throw e
    }
  }

  private def kept[A](body: => A): A =
    try body
    catch {
      case _: ClosedByInterruptException => throw new InterruptedException
      case e: IOException =>
        val reason = Option(e.getMessage).getOrElse(e.getClass.getSimpleName)
        throw Conditions.ResponseFileFailed
          .because(e)("path" -> Paths.get(System.getProperty("java.io.tmpdir")).toAbsolutePath, "reason" -> reason)
    }
}
