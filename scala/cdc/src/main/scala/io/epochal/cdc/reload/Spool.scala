package io.epochal.cdc.reload

import java.nio.ByteBuffer
import java.util.zip.CRC32C

import scala.util.Using

import io.epochal.cdc.change.FrameReader
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.core.journal.{FileInput, FileOutput, FileStore, JournalDamage}

/** A file of frames, which are kept until they are read: the length of each in four bytes, then its payload. One thread. */
final private[reload] class Spool(file: FileOutput) extends AutoCloseable {
  private val head = ByteBuffer.allocate(Spool.Head)

  def write(frame: Bytes): Unit = {
    file.write(head.clear().putInt(frame.length).array, 0, Spool.Head)
    file.write(frame.array, frame.offset, frame.length)
  }

  /** Makes all frames durable, and ends the file. */
  def finish(): Unit = {
    file.sync()
    file.close()
  }

  override def close(): Unit = file.abandon()
}

private[reload] object Spool {
  private val Head = 4

  /** Reads a finished file: each frame, which is valid during the call.
    *
    * @throws JournalDamage
    *   if the file is not as it was written
    */
  def read(store: FileStore, name: String)(use: FrameReader => Unit): Unit =
    Using.resource(store.open(name)) { file =>
      var at = 0L
      while (at < file.length) {
        val length = ByteBuffer.wrap(FileInput.bytes(file, at, at + Head)).getInt
        val frame = new FrameReader(FileInput.bytes(file, at + Head, at + Head + length), length)
        if (!frame.parts.forall(isIntact(frame, _))) throw new JournalDamage(name, s"a frame at $at is damaged")
        use(frame)
        at += Head + length
      }
    }

  private def isIntact(frame: FrameReader, part: FrameReader.Part): Boolean = {
    val crc = new CRC32C
    frame.changes(part).foreach { case FrameReader.StoredChange(_, _, tuples) =>
      crc.update(tuples.array, tuples.offset, tuples.length)
    }
    crc.getValue.toInt == part.stored.crc
  }
}
