package io.epochal.display

import java.lang.ref.WeakReference
import java.util

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.{SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.{LocalScan, ScanBuilder}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
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

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => new DisplayScan(rows)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new DisplayWriteBuilder(rows, info.schema)
}

/** Returns the rows at planning time, without a Spark job. */
final private class DisplayScan(source: DisplayedRows) extends LocalScan {

  override def readSchema(): StructType = source.schema

  override def rows(): Array[InternalRow] = source.rows.map { bytes =>
    val row = BinaryRow.empty(source.schema.length)
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

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = {
    // Serialized to the tasks, without this object.
    val (share, columns, keepsFirst) = (rows.settings.share(info.numPartitions), schema, replaces)
    (_, _, _) => new DisplayWriter(share, columns, keepsFirst)
  }

  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    rows.commit(epoch, messages.toSeq.collect { case message: DisplayMessage => message }, replaces)
  }

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()

  override def toString: String = DisplaySettings.Format
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

/** Window of rows, bounded in number and size: the last rows, or with `keepsFirst` the first. Not thread-safe. */
final private[display] class RowWindow(settings: DisplaySettings, keepsFirst: Boolean) {
  private val buffer = mutable.ArrayDeque.empty[Array[Byte]]
  private var bytes = 0L
  private var isFull = false

  /** @param row
    *   bytes of the row, which must not change; evaluated only if the row is kept
    * @return
    *   whether the row can be kept at all
    */
  def add(size: Int)(row: => Array[Byte]): Boolean = {
    val fits = size <= settings.maxBytes
    if (keepsFirst) {
      isFull ||= fits && (buffer.size == settings.maxRows || bytes + size > settings.maxBytes)
      if (fits && !isFull) append(row)
    } else if (fits) {
      append(row)
      while (buffer.size > settings.maxRows || bytes > settings.maxBytes) bytes -= buffer.removeHead().length
    }
    fits
  }

  def rows: Array[Array[Byte]] = buffer.toArray

  private def append(row: Array[Byte]): Unit = {
    buffer.append(row)
    bytes += row.length
  }
}

/** Rows of one task.
  *
  * @param count
  *   number of all rows, kept or not
  * @param tooLarge
  *   number of rows that exceed a task's share of `maxBytes`
  */
final private[display] case class DisplayMessage(rows: Array[Array[Byte]], count: Long, tooLarge: Long)
    extends WriterCommitMessage

/** Rows of one display in the driver's memory, in Spark's binary form. Thread-safe. */
final private[display] class DisplayedRows(val settings: DisplaySettings, val schema: StructType) {
  private var window = new RowWindow(settings, keepsFirst = false)
  private var last = Map("epoch" -> "-1", "rows" -> "0")
  private var all = 0L
  private var tooLarge = 0L

  /** @param messages
    *   in partition order
    * @param replaces
    *   whether the epoch replaces all rows (output mode complete). Then the first rows are kept, since they may be sorted
    */
  def commit(epoch: Long, messages: Seq[DisplayMessage], replaces: Boolean): Unit = synchronized {
    if (replaces) window = new RowWindow(settings, keepsFirst = true)
    for (message <- messages; row <- message.rows) window.add(row.length)(row)
    val count = messages.map(_.count).sum
    all += count
    tooLarge += messages.map(_.tooLarge).sum
    last = Map("epoch" -> epoch.toString, "rows" -> count.toString)
  }

  def rows: Array[Array[Byte]] = synchronized(window.rows)

  def metrics: Map[String, String] = synchronized {
    last ++ Map("allRows" -> all.toString, "keptRows" -> rows.length.toString, "tooLargeRows" -> tooLarge.toString)
  }
}

/** The displays of this JVM. A display lives as long as its query, or a plan that reads it, such as that of a temporary view.
  */
private[display] object DisplayedRows {
  private val tables = mutable.HashMap.empty[String, WeakReference[DisplayedRows]]

  def find(display: String): Option[DisplayedRows] = synchronized(tables.get(display).flatMap(ref => Option(ref.get)))

  /** Returns the existing display or creates an empty one. */
  def of(settings: DisplaySettings, schema: StructType): DisplayedRows = synchronized {
    find(settings.display).getOrElse {
      tables.filterInPlace((_, ref) => ref.get != null)
      val rows = new DisplayedRows(settings, schema)
      tables(settings.display) = new WeakReference(rows)
      rows
    }
  }
}
