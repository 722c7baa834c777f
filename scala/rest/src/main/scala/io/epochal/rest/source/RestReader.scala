package io.epochal.rest.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.Slice
import io.epochal.kit.record.{Pages, RecordColumns, RecordReading, RecordRows}
import io.epochal.kit.source.journal.{FeedRows, JournalPartition, JournalRows}
import io.epochal.kit.spark.{SumMetric, TaskMetric}
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.{HttpClient, HttpCounters, HttpCounts}

/** @param journal
  *   the stream's; None for a batch read
  */
final private[rest] class RestReaderFactory(
    requests: ListRequests,
    reading: RecordReading,
    counters: HttpCounters,
    journal: Option[HadoopFileStore]
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case MemberPartitions(parts) =>
      new FanOutReader(parts, part => of(part.requests).single(part.partition))
    case other => single(other)
  }

  private def of(member: ListRequests): RestReaderFactory =
    new RestReaderFactory(member, reading, counters, journal.map(_.below(FanOut.directory(member.params))))

  private def single(partition: InputPartition): PartitionReader[InternalRow] = {
    val counts = new HttpCounters
    val pages = (partition, requests.paging, journal) match {
      case (RestPartition(range, share), _, _) =>
        val client = new HttpClient(requests.http, counts, share)
        new PageReader(requests, range, client, share.maxConcurrency.getOrElse(1))
      case (JournalPartition(slices), _, Some(store)) =>
        val params = new ParamColumns(requests.rules, reading)
        new JournalPages(requests, slices.iterator, store, params.origin)
      case (ChainPartition(until, share), chain: ChainedPagination, _) =>
        val client = new HttpClient(requests.http, counts, share.getOrElse(requests.http.budget))
        new ChainPages(requests, chain, client, until)
      case _ => throw new IllegalArgumentException(s"not a partition of ${RestOptions.Format}: $partition")
    }
    new RestReader(requests, reading, pages, counts, counters)
  }
}

/** Makes rows of pages that the driver has received. */
final private[rest] class RestFeedRows(
    requests: ListRequests,
    reading: RecordReading,
    counters: HttpCounters,
    val store: HadoopFileStore
) extends FeedRows {

  override def source: String = requests.errors.source

  override def rows(slices: Iterator[Slice]): JournalRows =
    new RestReader(requests, reading, new JournalPages(requests, slices, store), new HttpCounters, counters)

  override def lost(from: Long, until: Long, reason: String): String = requests.errors.dataLoss(from, until, reason)
}

/** The rows of one task, page after page; each record is parsed in the task that received it.
  *
  * @param counts
  *   of this task's requests
  * @param counters
  *   of the query
  */
final private[rest] class RestReader(
    requests: ListRequests,
    reading: RecordReading,
    pages: Pages,
    counts: HttpCounters,
    counters: HttpCounters
) extends JournalRows {

  private val ofTask =
    if (requests.params.isEmpty) Map.empty[String, Any]
    else new ParamColumns(requests.rules, reading).values(requests.params)
  private val columns = new RecordColumns(reading, requests.rules, ofTask)
  private val rows = new RecordRows(columns, requests.rules, pages, requests.place)
  private var closed = false

  override def next(): Boolean = rows.next()

  override def get(): InternalRow = rows.row

  override def number: Long = pages.index

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    RestMetrics.ofTask(pages.count, counts.value, rows.malformed)

  override def close(): Unit = if (!closed) {
    closed = true
    rows.close()
    pages.close()
    counters.add(counts.value.copy(pages = pages.count, malformed = rows.malformed))
  }
}

/** The rows of several readers in sequence; each is opened when the previous one is done.
  *
  * @param open
  *   creates the reader of a part
  */
final private[rest] class FanOutReader(
    parts: Seq[MemberPartition],
    open: MemberPartition => PartitionReader[InternalRow])
    extends PartitionReader[InternalRow] {

  private var current = Option.empty[PartitionReader[InternalRow]]
  private var left = parts
  private var sumsOfClosed = Map.empty[String, Long]

  @scala.annotation.tailrec
  override def next(): Boolean = current match {
    case Some(reader) if hasNext(reader) => true
    case Some(_) =>
      close()
      left = left.tail
      next()
    case None if left.isEmpty => false
    case None =>
      current = Some(open(left.head))
      next()
  }

  private def hasNext(reader: PartitionReader[InternalRow]): Boolean =
    try reader.next()
    catch {
      case error: EpochalException if left.head.skipsGone && MissingPage.reportedBy(error) =>
        LoggerFactory.getLogger(getClass).warn(s"A list is gone and is skipped: ${error.problem}")
        false
    }

  override def get(): InternalRow = current.get.get()

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    metricSums.map { case (name, value) => TaskMetric(name, value) }.toArray

  /** Closes the open reader. */
  override def close(): Unit = {
    current.foreach(_.close())
    sumsOfClosed = metricSums
    current = None
  }

  private def metricSums: Map[String, Long] = current.fold(sumsOfClosed) { reader =>
    reader.currentMetricsValues().foldLeft(sumsOfClosed) { (sums, metric) =>
      sums.updated(metric.name, sums.getOrElse(metric.name, 0L) + metric.value)
    }
  }
}

final class RestPagesMetric extends SumMetric("epochalRestPages", "pages read")
final class RestBytesMetric extends SumMetric("epochalRestBytes", "bytes received")
final class RestRetriesMetric extends SumMetric("epochalRestRetries", "requests repeated")
final class RestThrottledMetric extends SumMetric("epochalRestThrottled", "requests refused as too many")
final class RestWaitedMetric extends SumMetric("epochalRestWaitedMillis", "milliseconds waited before requests")
final class RestMalformedMetric extends SumMetric("epochalRestMalformed", "records that do not fit the schema")

/** The metrics of a scan in the web UI. */
private[rest] object RestMetrics {
  private val all = Array(
    new RestPagesMetric,
    new RestBytesMetric,
    new RestRetriesMetric,
    new RestThrottledMetric,
    new RestWaitedMetric,
    new RestMalformedMetric)

  def ofScan: Array[CustomMetric] = all.toArray

  /** Omits zeros, which are frequent: Spark reads the metrics every 100 rows and looks up each of them. */
  def ofTask(pages: Long, counts: HttpCounts, malformedRecords: Long): Array[CustomTaskMetric] =
    all
      .zip(Array(pages, counts.bytes, counts.retries, counts.throttled, counts.waitedMillis, malformedRecords))
      .collect { case (metric, value) if value > 0 => metric.ofTask(value) }
}
