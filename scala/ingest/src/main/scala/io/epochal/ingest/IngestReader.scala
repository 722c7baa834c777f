package io.epochal.ingest

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.Slice
import io.epochal.kit.record.{RecordColumns, RecordReading, RecordRows, RecordRules}
import io.epochal.kit.source.journal.{FeedRows, FeedView, JournalPartition, JournalRows}
import io.epochal.kit.store.HadoopFileStore

/** All columns, and how records become those of the schema; no rules: text. */
final private case class IngestLayout(schema: StructType, rules: Option[RecordRules])

/** Travels to the executors. */
final private class IngestReaderFactory(
    options: IngestOptions,
    rules: Option[RecordRules],
    reading: RecordReading,
    val store: HadoopFileStore
) extends PartitionReaderFactory
    with FeedRows {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case JournalPartition(slices) => new IngestReader(rows(slices.iterator))
    case other => throw new IllegalArgumentException(s"not a partition of ${IngestOptions.Format}: $other")
  }

  override protected def remoteView(): FeedView = throw Conditions.ModeUnsupported(
    "format" -> IngestOptions.Format,
    "mode" -> "be read by a continuous or real-time query on a cluster",
    "reason" -> "its end is known in the driver's process alone, and this task runs in another",
    "suggestion" -> "Use a micro-batch trigger, or local mode."
  )

  override def source: String = options.source

  override def rows(slices: Iterator[Slice]): JournalRows = {
    val arrivals = new ArrivalReader(slices, store, options.source, options.lost)
    rules match {
      case None => new TextRows(arrivals, reading.schema, options.replacesInvalid)
      case Some(given) =>
        val pages = new ArrivalPages(arrivals, given.format)
        new ParsedRows(new RecordRows(new RecordColumns(reading, given), given, pages, IngestOptions.Format), pages)
    }
  }

  override def lost(from: Long, until: Long, reason: String): String = options.lost(from, until, reason)

  def fenced: EpochalException = Conditions.JournalFenced("source" -> options.source, "path" -> store)
}

final private class ParsedRows(rows: RecordRows, pages: ArrivalPages) extends JournalRows {
  override def next(): Boolean = rows.next()
  override def row: InternalRow = rows.row
  override def number: Long = pages.index
  override def close(): Unit = pages.close()
}

/** One partition of a micro-batch. */
final private class IngestReader(rows: JournalRows) extends PartitionReader[InternalRow] {
  override def next(): Boolean = rows.next()
  override def get(): InternalRow = rows.row
  override def close(): Unit = rows.close()
}
