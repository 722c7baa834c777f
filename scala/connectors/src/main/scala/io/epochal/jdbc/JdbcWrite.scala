package io.epochal.jdbc

import java.util.UUID

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
import io.epochal.jdbc.commit.{BatchCommit, CheckpointOffsets, Claims, EpochCommit, Run}
import io.epochal.jdbc.database.{BadRows, BulkRun, Database, TaskMessage, Transport}
import io.epochal.jdbc.option.{IdentityOptions, JdbcOptions, TransportChoice}
import io.epochal.jdbc.sql.Writer
import io.epochal.jdbc.transport.{Leftovers, RowFiles, Transports}
import io.epochal.kit.engine.{EveryOutputMode, QueryStop, SinkEngine}
import io.epochal.kit.store.HadoopFileStore

/** What is to be written, and by whom. */
final private[jdbc] case class WriteRequest(
    database: Database,
    claims: Claims,
    schema: StructType,
    queryId: String,
    metrics: SinkMetrics,
    engine: SinkEngine)

/** Spark makes one for every micro-batch, so nothing may happen here that should happen once. */
final private[jdbc] class JdbcWriteBuilder(request: WriteRequest) extends EveryOutputMode {
  private var whole = false

  /** Complete mode, or a batch write in overwrite mode. */
  override def truncate(): WriteBuilder = {
    whole = true
    this
  }

  override def build(): Write = {
    if (whole && request.database.options.rows.opColumn.isDefined)
      throw Conditions.ModeUnsupported(
        "format" -> JdbcOptions.Format,
        "mode" -> "replace the whole table with mode=changes",
        "reason" -> "output mode complete, and a batch in overwrite mode, send all rows that the table is to hold",
        "suggestion" -> "Leave opColumn out, or use output mode append."
      )
    new JdbcWrite(request, whole)
  }
}

/** @param truncate
  *   the rows are all that the table is to hold
  */
final private class JdbcWrite(request: WriteRequest, truncate: Boolean) extends Write {
  import request.database

  override def description(): String = s"${JdbcOptions.Format} ${database.options.table} in ${database.place}"
  override def toStreaming: StreamingWrite = new JdbcStreamingWrite(request, truncate)
  override def toBatch: BatchWrite = new JdbcBatchWrite(request, truncate)
  override def supportedCustomMetrics(): Array[CustomMetric] = TaskMetrics.supported
}

/** The driver's part of one micro-batch: claim (the first of the run only), then commit. */
final private class JdbcStreamingWrite(request: WriteRequest, truncate: Boolean) extends StreamingWrite {
  import request._

  private val options = database.options
  private val sinkId = options.sinkId.getOrElse(queryId)
  private lazy val query = engine.runningQuery(queryId).fold(throw _, identity)
  private lazy val claimed = claims.of(schema, Run(sinkId, queryId, query.runId), files)

  /** Beside the checkpoint, or in a directory that users name. A copied checkpoint has the query's id, and may write under
    * another sink id: their files are kept apart.
    */
  private def files: Option[RowFiles] = Option.when(database.bulk.isEmpty) {
    val directory = options.spillDirectory.getOrElse(query.checkpoint)
    val runs = new HadoopFileStore(directory, engine.hadoop)
      .below(RowFiles.Directory)
      .below(Writer.of(database.place, s"$queryId\n$sinkId", 0L).sink)
    RowFiles(runs, query.runId)
  }
  private var transport: Transport = _

  /** Called before any task runs. */
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = QueryStop.guard {
    refused.foreach(throw _)
    transport = Transports.choose(database, claimed.run, info.numPartitions, engine, claimed.files)
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
          "reason" -> "there Spark sets an epoch's end while the epoch runs, and a restart can deliver other rows under the same number",
          "instead" -> ".trigger(processingTime=\"10 seconds\") or .trigger(availableNow=True)"
        ))
    else if (query.outputMode == OutputMode.Update && !options.upsert)
      Some(Conditions.KeyColumnsRequired("mode" -> "Output mode update"))
    else if (truncate && options.transport == TransportChoice.Prepared)
      Some(
        Conditions.ModeUnsupported(
          "format" -> JdbcOptions.Format,
          "mode" -> "replace the table's rows with transport=prepared",
          "reason" -> "its transactions become visible one by one",
          "suggestion" -> "Leave transport out."))
    else None

  /** Task attempts race without a referee: only those named in the messages count. */
  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    val shipment = transport.receive(TaskMessages.of(messages), epoch.toString).fold(throw _, identity)
    val attempt = EpochAttempt(
      epoch,
      claimed.row.generation,
      claimed.row.runId,
      query.trigger,
      CheckpointOffsets.hash(query.checkpoint, epoch, engine.hadoop),
      shipment.digest)
    val outcome = new EpochCommit(database, claimed, truncate).commit(attempt, shipment)
    if (shipment.files.nonEmpty) claimed.files.foreach(_.removeUpTo(epoch))
    metrics.committed(sinkId, attempt, shipment, Transports.describe(database, shipment, messages.length), outcome)
  }

  /** Called also after a commit that failed, before all tasks have ended, and with messages missing: so only the ledger
    * decides what is undone (K6). A failure here would hide the reason; the next run settles what remains.
    */
  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    if (transport != null) {
      Leftovers.settle(database, claimed.run)
      claimed.files.foreach(_.removeUpTo(epoch))
    }

  override def toString: String = s"${JdbcOptions.Format} ${options.table} in ${database.place}"
}

final private class JdbcBatchWrite(request: WriteRequest, truncate: Boolean) extends BatchWrite {
  import request.{database, engine, schema}

  private var transport: Transport = _

  private lazy val run = database.transaction("making the table ready") { transaction =>
    val connection = transaction.connection
    val bound = Claims.prepare(database, schema, connection) {
      database.dialect.ledger.serializeClaims(connection): Unit
    }
    val run = BulkRun(s"${IdentityOptions.BatchPrefix}${UUID.randomUUID()}", 0L, "", bound, bound.shape, once = true)
    database.bulk.foreach(_.claim(connection, run))
    transaction.commit()
    run
  }

  /** A batch has no checkpoint: its files are in a directory that users name, or, where driver and executors are one
    * process, in a temporary one.
    */
  private lazy val files: Option[RowFiles] = Option
    .when(database.bulk.isEmpty)(database.options.spillDirectory.orElse(engine.temporaryDirectory()))
    .flatten
    .map(directory =>
      RowFiles(new HadoopFileStore(directory, engine.hadoop).below(RowFiles.Directory), run.sinkId.replace(':', '-')))

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = QueryStop.guard {
    refused.foreach(throw _)
    transport = Transports.choose(database, run, info.numPartitions, engine, files)
    new JdbcWriterFactory(
      transport,
      database.dialect.rowFormat(run.table),
      schema,
      BadRows.of(database.options, schema, run.table.table.name.toString))
  }

  private def refused: Option[EpochalException] =
    if (database.options.sinkId.isDefined)
      Some(
        Conditions.ModeUnsupported(
          "format" -> JdbcOptions.Format,
          "mode" -> "write a batch under a sinkId",
          "reason" -> "a batch has no epoch by which a second write could be recognised",
          "suggestion" -> "Leave sinkId out, or use writeStream with .trigger(availableNow=True)."
        ))
    else if (database.options.transport == TransportChoice.Prepared)
      Some(
        Conditions.ModeUnsupported(
          "format" -> JdbcOptions.Format,
          "mode" -> "write a batch with transport=prepared",
          "reason" -> "a batch has no ledger row that could show which transactions were committed",
          "suggestion" -> "Leave transport out, or use writeStream with .trigger(availableNow=True)."
        ))
    else None

  override def useCommitCoordinator(): Boolean = false

  override def commit(messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    val shipment = transport.receive(TaskMessages.of(messages), BatchCommit.Epoch).fold(throw _, identity)
    new BatchCommit(database, run, truncate).commit(shipment)
    if (shipment.files.nonEmpty) files.foreach(_.removeAll())
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit =
    if (transport != null) {
      Leftovers.settle(database, run)
      files.foreach(_.removeAll())
    }
}

private object TaskMessages {
  def of(messages: Array[WriterCommitMessage]): Seq[TaskMessage] = messages.toSeq.map {
    case message: TaskMessage => message
    case other                => throw new IllegalStateException(s"not a message of this sink: $other")
  }
}
