package io.epochal.rest.sink

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.metric.{CustomMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.EpochalException
import io.epochal.kit.sink.{SinkGauges, SinkProvider, SinkTable}
import io.epochal.kit.spark.{RowOrder, RunningQuery, SinkEngine, SumMetric}
import io.epochal.rest.http.{HttpCounters, HttpCounts}

/** `format("epochal-rest")` as a sink: sends rows to a REST API at least once, under idempotency keys that stay the same
  * when Spark replays an epoch. Spark finds [[io.epochal.rest.RestFormat]] by name.
  *
  *   - [[RestSinkOptions]], [[RestSinkSettings]], [[RequestShape]]: the options, checked before a query starts
  *   - [[RestWrite]] (driver): rejects unrepeatable queries, writes dead letters
  *   - [[RestWriter]] (task): rows to requests ([[RowEncoder]], [[RequestBatch]]) and their keys ([[IdempotencyKey]])
  *   - [[RowSender]]: sends a request until each of its rows is accepted or rejected
  */
final class RestSinkProvider extends SinkProvider[RestSinkSettings](RestSinkOptions.group) {

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    throw new UnsupportedOperationException("a sink has no schema of its own")

  override protected def unpartitioned: (String, String) =
    "an API has no partitions" -> "Leave partitionBy out; a column's value can stand in the url."

  override protected def options(raw: Map[String, String]): Either[EpochalException, RestSinkSettings] =
    RestSinkSettings.read(raw)

  override protected def table(schema: StructType, settings: RestSinkSettings): RestSinkTable = {
    val shape = RequestShape.of(schema, settings).fold(throw _, identity)
    val table = new RestSinkTable(settings, shape, SinkEngine.OfActiveSession, new QueryPlan)
    table.check()
    table
  }
}

/** The plan of the sink's query, which runs in the active session. */
private[rest] class QueryPlan {

  /** Why the order of the query's rows is not repeatable; None if no reason is known. */
  def hindrance(queryId: String): Either[EpochalException, Option[String]] = RowOrder.hindrance(queryId)

  /** The epoch of the calling thread. */
  def currentEpoch: Option[Long] = RunningQuery.currentEpoch

  /** Number of tasks that can run at a time. */
  def parallelism: Int = SparkSession.active.sparkContext.defaultParallelism
}

/** The target of one query, from its start to its end. */
final private[rest] class RestSinkTable(
    settings: RestSinkSettings,
    shape: RequestShape,
    engine: SinkEngine,
    plan: QueryPlan
) extends SinkTable(shape.schema) {

  private val sinkMetrics = new RestSinkMetrics
  private var run = Option.empty[RestSinkRun]

  /** Checks that dead letters can be written. */
  def check(): Unit = settings.deadLetters.foreach(letters => new DeadLetterFiles(letters.path, engine.hadoop).check())

  override def name(): String = s"${RestSinkOptions.Format} ${settings.method} ${settings.place}"

  override def metrics(): util.Map[String, String] = sinkMetrics.asMap.asJava

  /** Called for every micro-batch; returns the same run. */
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = synchronized {
    val current = run
      .filter(_.queryId == info.queryId)
      .getOrElse(new RestSinkRun(settings, shape, info.queryId, engine, plan, sinkMetrics))
    run = Some(current)
    new RestWriteBuilder(current)
  }
}

/** The sink's metrics in every query progress (`sink.metrics`): the last epoch, and sums since the query started. */
final private[rest] class RestSinkMetrics {
  private val counters = new HttpCounters
  private var sentBytes = 0L
  private var badRows = 0L
  private val gauges = new SinkGauges(since.map { case (name, n) => name -> n.toDouble })
  private var last: Map[String, String] = Map.empty

  /** Registers the gauges in Spark's metrics system; called in every epoch. */
  def show(sink: String): Unit = gauges.show(sink)

  /** @param before
    *   whether the epoch had begun before
    */
  def begun(before: Boolean): Unit = if (before) gauges.replayed()

  def committed(epoch: String, messages: Seq[RestTaskMessage]): Unit = synchronized {
    messages.foreach(message => counters.add(message.counts))
    sentBytes += messages.map(_.sentBytes).sum
    val (rows, refused) = (messages.map(_.rows).sum, messages.map(_.refused.length.toLong).sum)
    badRows += refused
    last = Map("epoch" -> epoch, "rows" -> rows.toString)
    epoch.toLongOption.foreach(gauges.written(_, rows - refused, refused))
  }

  def asMap: Map[String, String] = synchronized {
    val counts = since ++ Map("badRows" -> badRows, "repeatedEpochs" -> gauges.repeatedEpochs)
    last ++ counts.map { case (name, n) => name -> n.toString }
  }

  private def since: Map[String, Long] = synchronized {
    counters.value.byName -- Seq("pages", "bytes", "malformed") + ("sentBytes" -> sentBytes)
  }
}

final class RestSentRowsMetric extends SumMetric("epochalRestSentRows", "rows sent")
final class RestRequestsMetric extends SumMetric("epochalRestRequests", "requests made")
final class RestSentBytesMetric extends SumMetric("epochalRestSentBytes", "bytes sent")
final class RestSentAgainMetric extends SumMetric("epochalRestSentAgain", "requests repeated")

/** The metrics of a write in the web UI. */
private[rest] object RestTaskMetrics {
  private val all =
    Array(new RestSentRowsMetric, new RestRequestsMetric, new RestSentBytesMetric, new RestSentAgainMetric)

  def supported: Array[CustomMetric] = all.toArray

  def values(rows: Long, sentBytes: Long, counts: HttpCounts): Array[CustomTaskMetric] =
    all.zip(Array(rows, counts.requests, sentBytes, counts.retries)).map { case (metric, n) => metric.ofTask(n) }
}
