package io.epochal.rest.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.HttpClient
import io.epochal.rest.http.request.HttpCounters
import io.epochal.rest.source.fan.{FanOutReader, MemberPartitions}
import io.epochal.rest.source.page.FetchedPages
import io.epochal.rest.source.paging.{ChainedPagination, FanOut, RestOptions, RestPartition}
import io.epochal.rest.source.record.{RecordMode, RestReading, RowColumns}
import io.epochal.rest.source.supply.JournalPartition
import io.epochal.rest.source.task.{ChainPages, ChainPartition, JournalPages, PageReader, Pages}

/** @param journal
  *   the stream's; a batch read has none
  */
final private[rest] class RestReaderFactory(
    options: RestOptions,
    reading: RestReading,
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
    val columns = new RowColumns(reading, options.rules, options.params)
    val pages = (partition, options.paging, journal) match {
      case (RestPartition(range, share), _, _) =>
        val source = new FetchedPages(options, new HttpClient(options.http, counts, share))
        new PageReader(options, columns, range, source, share.concurrency.getOrElse(1))
      case (JournalPartition(slices), _, Some(store)) => new JournalPages(options, columns, slices, store)
      case (ChainPartition(until), chained: ChainedPagination, _) =>
        new ChainPages(options, columns, chained, new HttpClient(options.http, counts), until)
      case _ => throw new IllegalArgumentException(s"not a partition of ${RestOptions.Format}: $partition")
    }
    new RestReader(options, columns, pages, counts, counters)
  }
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
    columns: RowColumns,
    pages: Pages,
    counts: HttpCounters,
    counters: HttpCounters
) extends PartitionReader[InternalRow] {

  private var current = InternalRow.empty
  private var malformed = 0L
  private var closed = false

  override def next(): Boolean = {
    var found = false
    while (!found && pages.next()) found = take()
    found
  }

  override def get(): InternalRow = current

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    RestMetrics.ofTask(pages.pages, counts.value, malformed)

  override def close(): Unit = if (!closed) {
    closed = true
    pages.close()
    counts.read(pages.pages)
    counts.misfits(malformed)
    counters.add(counts.value)
  }

  /** Whether the record gives a row. */
  private def take(): Boolean =
    if (columns.none) {
      pages.pass()
      true
    } else {
      val row = pages.row()
      val lacking = if (row == null) -1 else columns.lacking(row)
      current =
        if (row == null) unfit(pages.misfit.reason)
        else if (lacking >= 0)
          unfit(s"the column '${columns.name(lacking)}' is NOT NULL, and the record has no value for it")
        else row
      if (current != null) columns.setOrigin(current, pages.answer.from)
      current != null
    }

  /** What the mode makes of a record; null: nothing. */
  private def unfit(reason: String): InternalRow = {
    if (options.rules.mode != RecordMode.FailFast && malformed == 0)
      RestReader.log.warn(s"${invalid(reason).problem} Further such records of this task are only counted.")
    malformed += 1
    options.rules.mode match {
      case RecordMode.FailFast      => throw invalid(reason)
      case RecordMode.DropMalformed => null
      case RecordMode.Permissive(_) =>
        columns.setCorrupt(pages.misfit.row, pages.misfit.record)
        pages.misfit.row
    }
  }

  private def invalid(reason: String): EpochalException =
    Conditions.RecordInvalid("index" -> pages.index, "url" -> options.endpoint, "reason" -> reason)
}

private object RestReader {
  private val log = LoggerFactory.getLogger(classOf[RestReader])
}
