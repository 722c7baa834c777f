package io.epochal.kit.connector

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.journal.Slice
import io.epochal.kit.source.journal.{FeedRows, JournalFrames, JournalRows}
import io.epochal.kit.spark.ValueRows
import io.epochal.kit.store.HadoopFileStore

final private[connector] case class ReceivedReaderFactory[C](
    task: ConnectorInTask[ReceivingConnector[C]],
    source: String,
    store: HadoopFileStore)
    extends FeedRows {

  override def rows(slices: Iterator[Slice]): ReceivedReader = {
    val connector = task.connector
    val settings = connector.settings(task.raw)
    val decoder = connector.decoder(settings, task.schema)
    new ReceivedReader(frames(slices), new ValueRows(task.schema), decoder, connector.calls(settings))
  }

  override def lost(from: Long, until: Long, reason: String): String =
    task.connector.settings(task.raw).lostRows(from, until, reason)
}

/** Reads the records of one task from the journal. */
final private[connector] class ReceivedReader(
    frames: JournalFrames,
    values: ValueRows,
    decoder: RecordDecoder,
    calls: AuthorCalls)
    extends JournalRows {

  private var frame = ByteBuffer.allocate(0)
  private var left = 0
  private var current: InternalRow = _
  private var read = 0L

  override def next(): Boolean = {
    while (left == 0 && open()) {}
    val found = left > 0
    if (found) {
      left -= 1
      read += 1
      current = calls.once("decoded a record")(values.row(decoder.decode(record())))
    }
    found
  }

  override def get(): InternalRow = current

  override def number: Long = read - 1

  override def close(): Unit = frames.close()

  /** Opens the next frame; false if there is none. */
  private def open(): Boolean = {
    val slice = frames.next { size =>
      frame = ByteBuffer.wrap(new Array[Byte](size))
      frame.array
    }
    slice.foreach { part =>
      (0 until part.skip).foreach(_ => record())
      left = part.take
      read = part.first
    }
    slice.nonEmpty
  }

  private def record(): Array[Byte] = {
    val bytes = new Array[Byte](frame.getInt())
    frame.get(bytes)
    bytes
  }
}
