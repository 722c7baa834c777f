package io.epochal.rest.sink

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.EpochalException
import io.epochal.kit.sink.{SinkProvider, SinkTable}
import io.epochal.kit.spark.{RowOrder, RunningQuery, SinkEngine}

/** `format("epochal-rest")` as a sink: sends rows to a REST API at least once, under idempotency keys that stay the same
  * when Spark replays an epoch. Spark finds [[io.epochal.rest.RestFormat]] by name.
  *
  *   - [[RestSinkOptions]], [[RestSinkSettings]], [[RequestShape]]: the options, checked before a query starts
  *   - [[RestWrite]] (driver): rejects unrepeatable queries, writes dead letters
  *   - [[RestWriter]] (task): rows to requests ([[JsonRowEncoder]], [[RequestBatch]]) and their keys ([[IdempotencyKey]])
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
