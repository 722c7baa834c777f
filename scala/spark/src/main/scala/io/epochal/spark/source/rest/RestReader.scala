package io.epochal.spark.source.rest

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.spark.http.{HttpClient, HttpCounters}

/** What of a record becomes a row.
  *
  * @param schema
  *   the columns asked for
  * @param timeZone
  *   the session's: a text that names no zone is a time there
  */
final private[rest] case class RestReading(schema: StructType, timeZone: String)

final private[rest] class RestReaderFactory(options: RestOptions, reading: RestReading, counters: HttpCounters)
    extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case RestPartition(range) => new RestReader(options, reading, range, counters)
    case other                => throw new IllegalArgumentException(s"not a partition of ${RestOptions.Format}: $other")
  }
}

/** The rows of one task: page after page, each record parsed where it was received. */
final private[rest] class RestReader(
    options: RestOptions,
    reading: RestReading,
    range: RecordRange,
    counters: HttpCounters
) extends PartitionReader[InternalRow] {

  private val counts = new HttpCounters
  private val columns = new RowColumns(reading, options.rules)
  private val pages =
    new PageReader(options, columns, range, new FetchedPages(options, new HttpClient(options.http, counts)))
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
      if (current != null) columns.setAnswer(current, pages.answer)
      current != null
    }

  /** What the mode makes of a record; null: nothing. */
  private def unfit(reason: String): InternalRow = {
    if (options.rules.mode != RecordMode.FailFast && malformed == 0)
      RestReader.log.warn(s"Going on, and only counting further ones of this task: ${invalid(reason).getMessage}")
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
