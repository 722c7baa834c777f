package io.epochal.display

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.connector.write.{
  DataWriter,
  LogicalWriteInfo,
  PhysicalWriteInfo,
  Write,
  WriteBuilder,
  WriterCommitMessage
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.kit.sink.SinkTable
import io.epochal.kit.spark.memory.{BinaryRow, Memory}
import io.epochal.kit.spark.{EveryOutputMode, QueryStop}

/** A display, written by one query and read by any number of queries. */
final private[display] class DisplayTable(rows: DisplayedRows) extends SinkTable(rows.schema) with SupportsRead {

  override def name(): String = DisplaySettings.Format

  override def metrics(): util.Map[String, String] = rows.metrics.asJava

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(
    TableCapability.BATCH_READ,
    TableCapability.STREAMING_WRITE,
    TableCapability.TRUNCATE,
    TableCapability.ACCEPT_ANY_SCHEMA)

  override def newScanBuilder(ignored: CaseInsensitiveStringMap): ScanBuilder = () => new DisplayScan(rows)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new DisplayWriteBuilder(rows, info.schema)
}

/** Returns the rows at planning time, without a Spark job. */
final private class DisplayScan(displayed: DisplayedRows) extends LocalScan {

  override def readSchema(): StructType = displayed.schema

  override def rows(): Array[InternalRow] = displayed.rows.map { bytes =>
    val row = BinaryRow.empty(displayed.schema.length)
    row.pointTo(bytes, 0, bytes.length)
    row.internal
  }
}

final private class DisplayWriteBuilder(rows: DisplayedRows, schema: StructType) extends EveryOutputMode {
  private var replaces = false

  override def truncate(): WriteBuilder = {
    replaces = true
    this
  }

  override def build(): Write = new Write {
    override def description(): String = DisplaySettings.Format
    override def toStreaming: StreamingWrite = new DisplayWrite(rows, schema, replaces)
  }
}

/** Driver side of the write of one epoch. */
final private class DisplayWrite(rows: DisplayedRows, schema: StructType, replaces: Boolean) extends StreamingWrite {

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    new DisplayWriterFactory(rows.settings.share(info.numPartitions), schema, replaces)

  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    rows.commit(epoch, messages.toSeq.collect { case message: DisplayMessage => message }, replaces)
  }

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()

  override def toString: String = DisplaySettings.Format
}

/** Serialized to the tasks. */
final private class DisplayWriterFactory(settings: DisplaySettings, schema: StructType, keepsFirst: Boolean)
    extends StreamingDataWriterFactory {

  override def createWriter(partition: Int, taskId: Long, epoch: Long): DataWriter[InternalRow] =
    new DisplayWriter(settings, schema, keepsFirst)
}

/** Writer of one task attempt. Sends no more rows than the display can show. */
final private class DisplayWriter(settings: DisplaySettings, schema: StructType, keepsFirst: Boolean)
    extends DataWriter[InternalRow] {
  private val binary = BinaryRow.converter(schema)
  private val window = new RowWindow(settings, keepsFirst)
  private var count = 0L
  private var tooLarge = 0L

  override def write(record: InternalRow): Unit = {
    val row = binary(record)
    count += 1
    val fits = window.add(row.sizeInBytes) {
      val bytes = new Array[Byte](row.sizeInBytes)
      Memory.copy(row.base, row.origin, bytes, Memory.ARRAY_START, bytes.length.toLong)
      bytes
    }
    if (!fits) tooLarge += 1
  }

  override def commit(): WriterCommitMessage = DisplayMessage(window.rows, count, tooLarge)

  override def abort(): Unit = ()
  override def close(): Unit = ()
}
