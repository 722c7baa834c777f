package io.epochal.kit.sink

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.EpochalException
import io.epochal.kit.spark.{ClaimingSink, SinkEngine}

/** The target of one query into a system with transactions. */
abstract class TransactionalTable(querySchema: StructType, engine: SinkEngine)
    extends SinkTable(querySchema)
    with ClaimingSink {

  protected def sink: TransactionalSink

  protected def sinkMetrics: SinkMetrics

  private lazy val claims = new Claims(sink, engine)

  final override def name(): String = sink.description

  final override def metrics(): util.Map[String, String] = sinkMetrics.asMap.asJava

  final override def started(queryId: String): Unit =
    for (query <- engine.runningQuery(queryId)) {
      val whole = query.outputMode == OutputMode.Complete
      val refusal = sink.refusesQuery(WriteKind(whole, Some(query.outputMode), query.trigger))
      if (refusal.orElse(sink.refusesWhole.filter(_ => whole)).isEmpty)
        try sink.started(Run(sink.settings.sinkId.getOrElse(queryId), queryId, query.runId), schema)
        catch {
          case error: EpochalException => Claims.log.info("{}: {}", sink.format: Any, error.getMessage)
        }
    }

  final override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new TransactionalWriteBuilder(
    WriteRequest(sink, claims, info.schema, info.queryId, sinkMetrics, engine))
}
