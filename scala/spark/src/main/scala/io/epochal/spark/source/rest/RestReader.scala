package io.epochal.spark.source.rest

import com.fasterxml.jackson.core.JsonParser
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.spark.http.{BodyBuffer, HttpClient, HttpCounters, HttpShare}
import io.epochal.spark.seam.JsonRows

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
    case RestPartition(range, share) => new RestReader(options, reading, range, share, counters)
    case other => throw new IllegalArgumentException(s"not a partition of ${RestOptions.Format}: $other")
  }
}

/** The rows of one task: page after page, each record parsed where it was received. */
final private[rest] class RestReader(
    options: RestOptions,
    reading: RestReading,
    range: RecordRange,
    share: HttpShare,
    counters: HttpCounters
) extends PartitionReader[InternalRow] {

  private val counts = new HttpCounters
  private val client = new HttpClient(options.http, counts, share)
  private val pages = new PageReader(options, range, client, share.concurrency.getOrElse(1), counts)
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

  override def currentMetricsValues(): Array[CustomTaskMetric] = RestMetrics.ofTask(counts.value)

  override def close(): Unit = if (!closed) {
    closed = true
    pages.close()
    client.close()
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
