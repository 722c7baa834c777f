package io.epochal.kit.connector

import java.nio.ByteBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.epochal.core.journal.{FileStore, Slice}
import io.epochal.kit.source.journal.{FeedRows, JournalFrames, JournalPartition, JournalRows}
import io.epochal.kit.spark.ValueRows
import io.epochal.kit.store.HadoopFileStore

/** Travels to the tasks, as [[ConnectorReaderFactory]] does. */
final private[connector] case class ReceivedReaderFactory[C](
    kind: Class[_ <: ReceivingConnector[C]],
    raw: Map[String, String],
    schema: StructType,
    source: String,
    store: HadoopFileStore)
    extends PartitionReaderFactory
    with FeedRows {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case JournalPartition(slices) => reader(slices.iterator)
    case other                    => throw new IllegalArgumentException(s"not a partition of a connector: $other")
  }

  override def rows(slices: Iterator[Slice]): JournalRows = reader(slices)

  override def lost(from: Long, until: Long, reason: String): String =
    made().settings(raw).lostRows(from, until, reason)

  private def reader(slices: Iterator[Slice]): ReceivedReader = {
    val connector = made()
    val settings = connector.settings(raw)
    val decoder = connector.decoder(settings, schema)
    new ReceivedReader(slices, store, source, settings, schema, decoder, connector.calls(settings))
  }

  private def made() = kind.getDeclaredConstructor().newInstance()

  override def toString: String = s"ReceivedReaderFactory(${kind.getName})"
}

private[connector] object ReceivedReaderFactory {

  def apply[C](
      connector: ReceivingConnector[C],
      settings: Settings,
      schema: StructType,
      source: String,
      store: HadoopFileStore): ReceivedReaderFactory[C] = {
    val kind = connector.getClass.asInstanceOf[Class[ReceivingConnector[C]]]
    new ReceivedReaderFactory(kind, settings.raw, schema, source, store)
  }
}

/** The records of one task, from the journal. */
final private class ReceivedReader(
    slices: Iterator[Slice],
    store: FileStore,
    source: String,
    settings: Settings,
    schema: StructType,
    decoder: RecordDecoder,
    calls: AuthorCalls)
    extends PartitionReader[InternalRow]
    with JournalRows {

  private val frames = new JournalFrames(slices, store, source, settings.lostRows(_, _, _))
  private val values = new ValueRows(schema)
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

  override def row: InternalRow = current

  override def number: Long = read - 1

  override def close(): Unit = frames.close()

  /** Whether there is another frame. */
  private def open(): Boolean = {
    val slice = frames.next { size =>
      frame = ByteBuffer.wrap(new Array[Byte](size))
      frame.array
    }
    slice.foreach { wanted =>
      (0 until wanted.skip).foreach(_ => record())
      left = wanted.take
      read = wanted.first
    }
    slice.nonEmpty
  }

  private def record(): Array[Byte] = {
    val bytes = new Array[Byte](frame.getInt())
    frame.get(bytes)
    bytes
  }
}
