package io.epochal.spark.source.rest

import com.fasterxml.jackson.core.JsonParser
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.FileStore
import io.epochal.spark.http.{BodyBuffer, HttpClient, HttpCounters}
import io.epochal.spark.seam.JsonRows

/** What of a record becomes a row.
  *
  * @param schema
  *   the columns asked for
  * @param timeZone
  *   the session's: a text that names no zone is a time there
  */
final private[rest] case class RestReading(schema: StructType, timeZone: String)

/** @param journal
  *   the stream's; a batch read has none
  */
final private[rest] class RestReaderFactory(
    options: RestOptions,
    reading: RestReading,
    counters: HttpCounters,
    journal: Option[FileStore]
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val counts = new HttpCounters
    val pages = (partition, options.paging, journal) match {
      case (RestPartition(range, share), _, _) =>
        new PageReader(options, range, new HttpClient(options.http, counts, share), share.concurrency.getOrElse(1))
      case (JournalPartition(slices), _, Some(store)) => new JournalPages(options, slices, store)
      case (ChainPartition, chained: ChainedPagination, _) =>
        new ChainPages(options, chained, new HttpClient(options.http, counts))
      case _ => throw new IllegalArgumentException(s"not a partition of ${RestOptions.Format}: $partition")
    }
    new RestReader(options, reading, pages, counts, counters)
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
    reading: RestReading,
    pages: Pages,
    counts: HttpCounters,
    counters: HttpCounters
) extends PartitionReader[InternalRow] {

  private val required = reading.schema.fields.indices.filterNot(reading.schema(_).nullable).toArray
  private val rows = new JsonRows(reading.schema, reading.timeZone)
  private val parse: JsonParser => InternalRow = rows.row
  private val reason = (page: BodyBuffer, from: Int) => rows.reason(page.bytes, from, page.length)
  private var current = InternalRow.empty
  private var closed = false

  override def next(): Boolean = {
    val more = pages.next()
    if (more) {
      if (reading.schema.isEmpty) pages.skip()
      else {
        current = pages.read(parse)(reason)
        checkRequired()
      }
    }
    more
  }

  override def get(): InternalRow = current

  override def currentMetricsValues(): Array[CustomTaskMetric] = RestMetrics.ofTask(pages.pages, counts.value)

  override def close(): Unit = if (!closed) {
    closed = true
    pages.close()
    counts.read(pages.pages)
    counters.add(counts.value)
  }

  private def checkRequired(): Unit = {
    var i = 0
    while (i < required.length) {
      if (current.isNullAt(required(i))) throw missing(reading.schema(required(i)).name)
      i += 1
    }
  }

  private def missing(column: String): EpochalException =
    Conditions.RecordInvalid(
      "index" -> pages.index,
      "url" -> options.endpoint,
      "reason" -> s"the column '$column' is NOT NULL, and the record has no value for it")
}
