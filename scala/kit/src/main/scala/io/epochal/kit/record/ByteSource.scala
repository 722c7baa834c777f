package io.epochal.kit.record

import java.io.{BufferedInputStream, ByteArrayInputStream, IOException, InputStream, SequenceInputStream}
import java.nio.ByteBuffer
import java.nio.channels.{ClosedByInterruptException, FileChannel}
import java.nio.file.StandardOpenOption.{DELETE_ON_CLOSE, READ, WRITE}
import java.nio.file.{Files, Paths}

import com.fasterxml.jackson.core.JsonParser

import io.epochal.core.error.Conditions
import io.epochal.kit.json.Json

/** Bytes that can be read from any place on. */
private[epochal] trait ByteSource {

  /** How many there are. */
  def length: Int

  /** Fills `into`, from its byte `at` on, with the bytes from `from` on. */
  def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit

  /** The bytes before `until`, from `from` on. */
  def stream(from: Int, until: Int): InputStream

  /** Reads JSON from that byte on. */
  def parser(from: Int): JsonParser

  /** Reads JSON as if the bytes before `until`, from `from` on, were not there. */
  final def parserWithout(from: Int, until: Int): JsonParser =
    Json.factory.createParser(new SequenceInputStream(stream(0, from), stream(until, length)))

  final def slice(from: Int, until: Int): Array[Byte] = {
    val bytes = new Array[Byte](until - from)
    read(from, bytes, 0, bytes.length)
    bytes
  }
}

/** Bytes in memory, in UTF-8: a body, or whole records of one. */
final private[epochal] class Piece(val bytes: Array[Byte], override val length: Int) extends ByteSource {

  override def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit =
    System.arraycopy(bytes, from, into, at, count)

  override def stream(from: Int, until: Int): InputStream = new ByteArrayInputStream(bytes, from, until - from)

  override def parser(from: Int): JsonParser = Json.factory.createParser(bytes, from, length - from)

}

/** A body that is too large for memory, in a file in `java.io.tmpdir` that its owner alone can read. Where the system allows
  * that it has no name from the beginning, and so goes with the process. One thread at a time.
  *
  * @param partBytes
  *   how much of it memory is to take at a time
  * @throws EpochalException
  *   RESPONSE_FILE_FAILED, from each step
  */
final private[epochal] class BodyFile(channel: FileChannel, val partBytes: Int) extends ByteSource with AutoCloseable {
  import BodyFile.{StreamBuffer, kept}

  private var written = 0

  override def length: Int = written

  def append(bytes: Array[Byte], count: Int): Unit = kept {
    val from = ByteBuffer.wrap(bytes, 0, count)
    while (from.hasRemaining) channel.write(from)
    written += count
  }

  override def read(from: Int, into: Array[Byte], at: Int, count: Int): Unit = kept {
    val bytes = ByteBuffer.wrap(into, at, count)
    while (bytes.hasRemaining)
      if (channel.read(bytes, (from + bytes.position() - at).toLong) < 0) throw new IOException("it has become shorter")
  }

  /** It has a buffer of its own. */
  override def stream(from: Int, until: Int): InputStream = {
    val blocks = new InputStream {
      private var next = from

      override def read(into: Array[Byte], offset: Int, count: Int): Int = {
        val some = math.min(count, until - next)
        if (some > 0) BodyFile.this.read(next, into, offset, some)
        next += some
        if (some > 0 || count == 0) some else -1
      }

      override def read(): Int = throw new UnsupportedOperationException // The buffer asks for many.
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
