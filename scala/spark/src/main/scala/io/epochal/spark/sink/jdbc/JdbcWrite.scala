package io.epochal.spark.sink.jdbc

import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.connector.write.{
  BatchWrite,
  DataWriterFactory,
  PhysicalWriteInfo,
  Write,
  WriteBuilder,
  WriterCommitMessage
}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.{EpochAttempt, TriggerMode}
import io.epochal.spark.seam.{EveryOutputMode, SinkEngine}

/** Spark makes one for every micro-batch, so nothing may happen here that should happen once. */
final private[jdbc] class JdbcWriteBuilder(
    database: Database,
    claims: Claims,
    schema: StructType,
    queryId: String,
    metrics: SinkMetrics,
    engine: SinkEngine
) extends EveryOutputMode {
  private var whole = false

  /** Complete mode, or a batch write in overwrite mode. */
  override def truncate(): WriteBuilder = {
    whole = true
    this
  }

  override def build(): Write = {
    if (whole && database.options.rows.opColumn.isDefined)
      throw Conditions.ModeUnsupported(
        "format" -> JdbcOptions.Format,
        "mode" -> "replace the whole table by changes",
        "reason" -> "output mode complete, and a batch in overwrite mode, bring all rows that the table is to hold",
        "suggestion" -> "Leave opColumn out, or use output mode append."
      )
    new JdbcWrite(database, claims, schema, queryId, whole, metrics, engine)
  }
}

/** @param truncate
  *   the rows are all that the table is to hold
  */
final private class JdbcWrite(
    database: Database,
    claims: Claims,
    schema: StructType,
    queryId: String,
    truncate: Boolean,
    metrics: SinkMetrics,
    engine: SinkEngine
) extends Write {
  override def description(): String = s"${JdbcOptions.Format} ${database.options.table} in ${database.place}"
  override def toStreaming: StreamingWrite =
    new JdbcStreamingWrite(database, claims, schema, queryId, truncate, metrics, engine)
  override def toBatch: BatchWrite = new JdbcBatchWrite(database, schema, truncate, engine)
  override def supportedCustomMetrics(): Array[CustomMetric] = TaskMetrics.supported
}

/** The driver's part of one micro-batch: claim (the first of the run only), then commit. */
final private class JdbcStreamingWrite(
    database: Database,
    claims: Claims,
    schema: StructType,
    queryId: String,
    truncate: Boolean,
    metrics: SinkMetrics,
    engine: SinkEngine
) extends StreamingWrite {

  private val options = database.options
  private val sinkId = options.sinkId.getOrElse(queryId)
  private lazy val query = engine.runningQuery(queryId).fold(throw _, identity)
  private lazy val claimed = claims.of(schema, Run(sinkId, queryId, query.runId))
  private lazy val transport = InlineLimit.transport(options, engine)

  /** Called before any task runs. */
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = {
    refused.foreach(throw _)
    new JdbcWriterFactory(
      transport,
      database.dialect.rowFormat(claimed.bound),
      schema,
      BadRows.of(options, schema, claimed.bound.table.name.toString))
  }

  private def refused: Option[EpochalException] =
    if (query.trigger != TriggerMode.MicroBatch)
      Some(
        Conditions.TriggerUnsupported(
          "format" -> JdbcOptions.Format,
          "trigger" -> query.trigger.name,
          "reason" -> "there Spark fixes an epoch's end while it runs, and a restart can deliver other rows under the same number",
          "instead" -> "Trigger.ProcessingTime or Trigger.AvailableNow"
        ))
    else if (query.outputMode == OutputMode.Update && !options.upsert)
      Some(Conditions.KeyColumnsRequired("mode" -> "Output mode update"))
    else None

  /** Task attempts race without a referee: only those named in the messages count. */
  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = {
    val shipment = transport.receive(TaskMessages.of(messages), epoch.toString).fold(throw _, identity)
    val attempt = EpochAttempt(
      epoch,
      claimed.row.generation,
      claimed.row.runId,
      query.trigger,
      CheckpointOffsets.hash(query.checkpoint, epoch, engine.hadoop),
      shipment.digest)
    val outcome = new EpochCommit(database, claimed, truncate).commit(attempt, shipment)
    metrics.committed(sinkId, attempt, shipment, transport.name, outcome)
  }

  /** What tasks put out is in their messages and nowhere else; and after a commit that failed, only the ledger knows what
    * is there: nothing to undo (K6).
    */
  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit = ()

  override def toString: String = s"${JdbcOptions.Format} ${options.table} in ${database.place}"
}

final private class JdbcBatchWrite(database: Database, schema: StructType, truncate: Boolean, engine: SinkEngine)
    extends BatchWrite {

  private lazy val transport = InlineLimit.transport(database.options, engine)

  private lazy val bound = database.transaction("making the table ready") { transaction =>
    database.dialect.ledger.serializeClaims(transaction.connection)
    val bound = Claims.prepare(database, schema, transaction.connection)
    transaction.commit()
    bound
  }

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = {
    if (database.options.sinkId.isDefined)
      throw Conditions.ModeUnsupported(
        "format" -> JdbcOptions.Format,
        "mode" -> "write a batch under a sinkId",
        "reason" -> "a batch has no epoch by which a repetition could be known",
        "suggestion" -> "Leave sinkId out, or use writeStream with Trigger.AvailableNow.")
    new JdbcWriterFactory(
      transport,
      database.dialect.rowFormat(bound),
      schema,
      BadRows.of(database.options, schema, bound.table.name.toString))
  }

  override def useCommitCoordinator(): Boolean = false

  override def commit(messages: Array[WriterCommitMessage]): Unit = {
    val shipment = transport.receive(TaskMessages.of(messages), BatchCommit.Epoch).fold(throw _, identity)
    new BatchCommit(database, bound, truncate).commit(shipment)
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit = ()
}

private object TaskMessages {
  def of(messages: Array[WriterCommitMessage]): Seq[TaskMessage] = messages.toSeq.map {
    case message: TaskMessage => message
    case other                => throw new IllegalStateException(s"not a message of this sink: $other")
  }
}

/** Task results also count against Spark's own limit, whose error would not say what to do. */
private object InlineLimit {
  def transport(options: JdbcOptions, engine: SinkEngine): Transport =
    Transport.Inline(
      engine.maxResultBytes.fold(options.inlineMaxBytes)(max => math.min(options.inlineMaxBytes, max / 10 * 9)))
}
