package io.epochal.rest.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.epochal.core.journal.Slice
import io.epochal.kit.record.{Pages, RecordColumns, RecordReading, RecordRows}
import io.epochal.kit.source.journal.{FeedRows, JournalPartition, JournalRows}
import io.epochal.kit.spark.TextMap
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.fan.{FanOutReader, MemberPartitions}
import io.epochal.rest.source.paging.{ChainedPagination, FanOut, OriginColumns, RestOptions, RestPartition}
import io.epochal.rest.source.task.{ChainPages, ChainPartition, JournalPages, PageReader}

/** @param journal
  *   the stream's; a batch read has none
  */
final private[rest] class RestReaderFactory(
    options: RestOptions,
    reading: RecordReading,
    counters: HttpCounters,
    journal: Option[HadoopFileStore]
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case MemberPartitions(parts) =>
      new FanOutReader(parts.iterator.map(part => of(part.options).single(part.partition)))
    case other => single(other)
  }

  private def of(member: RestOptions): RestReaderFactory =
    new RestReaderFactory(member, reading, counters, journal.map(_.below(FanOut.directory(member.params))))

  private def single(partition: InputPartition): PartitionReader[InternalRow] = {
    val counts = new HttpCounters
    val pages = (partition, options.paging, journal) match {
      case (RestPartition(range, share), _, _) =>
        val client = new HttpClient(options.http, counts, share)
        new PageReader(options, range, client, share.concurrency.getOrElse(1))
      case (JournalPartition(slices), _, Some(store)) => new JournalPages(options, slices.iterator, store)
      case (ChainPartition(until), chained: ChainedPagination, _) =>
        new ChainPages(options, chained, new HttpClient(options.http, counts), until)
      case _ => throw new IllegalArgumentException(s"not a partition of ${RestOptions.Format}: $partition")
    }
    new RestReader(options, reading, pages, counts, counters)
  }
}

/** Makes rows of pages that the driver has received. */
final private[rest] class RestFeedRows(
    options: RestOptions,
    reading: RecordReading,
    counters: HttpCounters,
    val store: HadoopFileStore
) extends FeedRows {

  override def source: String = options.source

  override def rows(slices: Iterator[Slice]): JournalRows =
    new RestReader(options, reading, new JournalPages(options, slices, store), new HttpCounters, counters)

  override def lost(from: Long, until: Long, reason: String): String = options.lost(from, until, reason)
}

/** The rows of one task: page after page, each record parsed where it was received.
  *
  * @param counts
  *   of this task's requests
  * @param counters
  *   of the query's
  */
final private[rest] class RestReader(
    options: RestOptions,
    reading: RecordReading,
    pages: Pages,
    counts: HttpCounters,
    counters: HttpCounters
) extends PartitionReader[InternalRow]
    with JournalRows {

  private val columns =
    new RecordColumns(reading, options.rules, Map(OriginColumns.Params.name -> TextMap(options.params)))
  private val rows = new RecordRows(columns, options.rules, pages, options.place)
  private var closed = false

  override def next(): Boolean = rows.next()

  override def get(): InternalRow = rows.row

  override def row: InternalRow = rows.row

  override def number: Long = pages.index

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    RestMetrics.ofTask(pages.count, counts.value, rows.malformed)

  override def close(): Unit = if (!closed) {
    closed = true
    pages.close()
    counts.read(pages.count)
    counts.misfits(rows.malformed)
    counters.add(counts.value)
  }
}
