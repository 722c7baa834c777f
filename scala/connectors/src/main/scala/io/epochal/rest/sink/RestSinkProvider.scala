package io.epochal.rest.sink

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Column, SupportsWrite, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.engine.{RowOrder, RunningQuery, SinkEngine}
import io.epochal.kit.sink.TornFirstBatch

/** `format("epochal-rest")` as a sink: rows are sent to a REST API, at least once, under idempotency keys that stay the same
  * when Spark repeats an epoch. [[io.epochal.rest.RestFormat]] is what Spark finds by name.
  *
  *   - [[RestSinkOptions]], [[RestSinkSettings]], [[RequestShape]]: what the user asks for, checked before a query starts
  *   - [[RestWrite]] (driver): refuses what cannot be repeated, writes dead letters
  *   - [[RestWriter]] (task): rows to requests ([[RowEncoder]], [[RequestBatch]]) and their keys ([[IdempotencyKey]])
  *   - [[RowSender]]: sends a request until each of its rows is accepted or refused
  */
final class RestSinkProvider extends TableProvider {

  /** Makes Spark hand the query's columns to `getTable`. */
  override def supportsExternalMetadata(): Boolean = true

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    throw new UnsupportedOperationException("a sink has no schema of its own")

  /** Called once when a query starts, and once for a batch write. Nothing has been sent yet. */
  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    if (partitioning.nonEmpty)
      throw Conditions.ModeUnsupported(
        "format" -> RestSinkOptions.Format,
        "mode" -> "partition the rows (partitionBy)",
        "reason" -> "an API has no partitions",
        "suggestion" -> "Leave partitionBy out; a column's value can stand in the url.")
    val settings = RestSinkSettings.read(properties.asScala.toMap).fold(throw _, identity)
    PlanRedaction.hide(RestSinkOptions.group, properties)
    val shape = RequestShape.of(schema, settings).fold(throw _, identity)
    val table = new RestSinkTable(settings, shape, SinkEngine.OfActiveSession, ActivePlan)
    table.check()
    TornFirstBatch.sweep(properties.asScala.toMap, SinkEngine.OfActiveSession.hadoop)
    table
  }
}

/** The plan of the query that runs in the active session. */
private object ActivePlan extends QueryPlan {
  override def hindrance(queryId: String): Either[EpochalException, Option[String]] = RowOrder.hindrance(queryId)
  override def currentEpoch: Option[Long] = RunningQuery.currentEpoch
  override def parallelism: Int = SparkSession.active.sparkContext.defaultParallelism
}

/** The target of one query, from its start to its end. */
final private[rest] class RestSinkTable(
    settings: RestSinkSettings,
    shape: RequestShape,
    engine: SinkEngine,
    plan: QueryPlan
) extends Table
    with SupportsWrite
    with ReportsSinkMetrics {

  private val sinkMetrics = new RestSinkMetrics
  private var run = Option.empty[RestSinkRun]

  /** Refuses what cannot work. */
  def check(): Unit = settings.deadLetters.foreach(letters => new DeadLetterFiles(letters.path, engine.hadoop).check())

  override def name(): String = s"${RestSinkOptions.Format} ${settings.method} ${settings.place}"

  /** The sink's description in every query progress. */
  override def toString: String = name()

  override def metrics(): util.Map[String, String] = sinkMetrics.asMap.asJava

  override def columns(): Array[Column] = shape.schema.fields.map(f => Column.create(f.name, f.dataType, f.nullable))

  // Spark 4.0 asks only this one.
  override def schema(): StructType = shape.schema

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(
    TableCapability.STREAMING_WRITE,
    TableCapability.BATCH_WRITE,
    TableCapability.TRUNCATE,
    TableCapability.ACCEPT_ANY_SCHEMA)

  /** Asked for every micro-batch; the run is the same. */
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = synchronized {
    val current = run
      .filter(_.queryId == info.queryId)
      .getOrElse(new RestSinkRun(settings, shape, info.queryId, engine, plan, sinkMetrics))
    run = Some(current)
    new RestWriteBuilder(current)
  }
}
