package io.epochal.kit.sink

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.core.hash.Sha256
import io.epochal.core.ledger.{ContentDigest, EpochAttempt, TriggerMode}
import io.epochal.core.option.OptionGroup
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.sink.transport.{RowFiles, TaskMessage, Transport}
import io.epochal.kit.spark.{EveryOutputMode, QueryStop, RunningQuery, SinkEngine}
import io.epochal.kit.store.{HadoopFileStore, LoggedEpochs}

/** The state that the writes of one query or batch share. */
final private[sink] case class WriteRequest(
    sink: TransactionalSink,
    claims: Claims,
    schema: StructType,
    queryId: String,
    metrics: SinkMetrics,
    engine: SinkEngine) {

  def chosen(target: SinkTarget, tasks: Int, files: => Option[RowFiles]): Transport =
    target.transport(tasks, maxInlineBytes, files)

  /** Task results also count against Spark's own limit, whose error gives no advice. */
  private def maxInlineBytes: Long = {
    val limit = sink.settings.inlineMaxBytes
    engine.maxResultBytes.fold(limit)(max => math.min(limit, max / 10 * 9))
  }

  def writerFactory(target: SinkTarget, transport: Transport): SinkWriterFactory =
    new SinkWriterFactory(transport, target.rowFormat, schema, BadRows(sink.settings.badRowLimit, schema, target.name))

  def rowsBelow(directory: String): HadoopFileStore =
    new HadoopFileStore(directory, engine.hadoop).below(RowFiles.Directory)
}

/** Spark creates one for every micro-batch, so nothing may happen here that should happen once. */
final private[epochal] class TransactionalWriteBuilder(request: WriteRequest) extends EveryOutputMode {
  private var whole = false

  /** Complete mode, or a batch write in overwrite mode: the rows replace all rows of the target. */
  override def truncate(): WriteBuilder = {
    whole = true
    this
  }

  override def build(): Write = {
    if (whole) request.sink.refusesWhole.foreach(throw _)
    new Write {
      override def description(): String = request.sink.description
      override def toStreaming: StreamingWrite = new TransactionalWrite(request, whole)
      override def toBatch: BatchWrite = new TransactionalBatchWrite(request, whole)
      override def supportedCustomMetrics(): Array[CustomMetric] = TaskMetrics.supported
    }
  }
}

/** The driver's part of a query's epochs. The trigger decides how they are committed, and is known once the query runs. */
final private[sink] class TransactionalWrite(val request: WriteRequest, val whole: Boolean) extends StreamingWrite {
  import request._

  val sinkId: String = sink.settings.sinkId.getOrElse(queryId)
  lazy val query: RunningQuery = engine.runningQuery(queryId).fold(throw _, identity)

  /** Claimed by the first epoch of the run. */
  lazy val claimed: ClaimedRun = claims.of(schema, Run(sinkId, queryId, query.runId), rowFiles)

  @volatile private var strategy: CommitStrategy = _

  /** Beside the checkpoint, or in a user's directory. A copied checkpoint has the query's id, and may write under another sink
    * id: the files of both are separate.
    */
  private def rowFiles: Option[RowFiles] = Option.when(sink.usesFiles) {
    val runs = rowsBelow(sink.settings.spillDirectory.getOrElse(query.checkpoint))
    RowFiles(runs.below(Sha256.hex(s"${sink.place}\n$queryId\n$sinkId", 8)), query.runId)
  }

  def attempt(epoch: Long, offsetsHash: Option[String], digest: ContentDigest): EpochAttempt =
    EpochAttempt(
      queryId,
      epoch,
      claimed.row.generation,
      claimed.row.runId,
      query.trigger,
      offsetsHash,
      digest,
      before =>
        Option
          .when(new LoggedEpochs(new Path(query.checkpoint), engine.hadoop).repartitions(before))(before)
          .flatMap(CheckpointOffsets.hash(query.checkpoint, _, engine.hadoop)),
      CheckpointOffsets.hash(query.checkpoint, _, engine.hadoop)
    )

  /** Called before any task runs. */
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory = QueryStop.guard {
    sink.refusesQuery(WriteKind(whole, Some(query.outputMode), query.trigger)).foreach(throw _)
    strategy = if (query.trigger == TriggerMode.MicroBatch) new MicroBatchCommit(this) else new FlushingCommit(this)
    strategy.begin(info.numPartitions)
  }

  /** Task attempts race without a coordinator: only those named in the messages count. */
  override def useCommitCoordinator(): Boolean = false

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = strategy.commit(epoch, messages)

  override def abort(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    if (strategy != null) strategy.abort(epoch)

  override def toString: String = sink.description
}

/** Commits the epochs of a trigger. */
private[sink] trait CommitStrategy {

  /** The factory for the tasks of an epoch, or of a continuous run, before they start. */
  def begin(tasks: Int): StreamingDataWriterFactory

  def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit

  /** Also called after a failed commit, before all tasks have ended: so only the ledger decides what is undone. A failure
    * here would hide the reason; the next run cleans up the rest.
    */
  def abort(epoch: Long): Unit
}

/** One micro-batch: claim (the first of the run only), then rows and ledger row in one transaction. */
final private class MicroBatchCommit(write: TransactionalWrite) extends CommitStrategy {
  import write._
  import write.request._

  private var transport: Transport = _

  override def begin(tasks: Int): StreamingDataWriterFactory = {
    metrics.show(sink.settings.sinkId)
    if (claimed.hasProgress.isEmpty) claimed.hasProgress = Some(hasProgress)
    transport = chosen(claimed.target, tasks, claimed.files)
    writerFactory(claimed.target, transport)
  }

  private def hasProgress: Boolean = claimed.target.flushes && {
    val epoch = engine.currentEpoch
    new ProgressCommits(claimed.target, sinkId, sink.settings)
      .endsWithMicroBatches(queryId, epoch, claimed.row)(epoch.foreach(takeBack))
      .fold(throw _, identity)
  }

  /** Moves our epoch aside so that the other trigger can run. */
  private def takeBack(epoch: Long): Unit =
    try { val _ = new LoggedEpochs(new Path(query.checkpoint), engine.hadoop).takeBack(epoch) }
    catch {
      case NonFatal(error) =>
        LoggerFactory.getLogger(getClass).warn(s"Epoch $epoch stays in the offset log of ${query.checkpoint}: $error")
    }

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    val shipment = transport.receive(Messages.of[TaskMessage](messages), epoch.toString)
    val attempt = write.attempt(epoch, CheckpointOffsets.hash(query.checkpoint, epoch, engine.hadoop), shipment.digest)
    val endsProgress = claimed.hasProgress.contains(true)
    val outcome = new EpochCommit(claimed.target, sinkId, sink.settings, whole, endsProgress).commit(attempt, shipment)
    outcome match {
      case EpochOutcome.Applied(_, _) => claimed.hasProgress = Some(false)
      // Rows may be stored beyond it: the next epoch checks again.
      case EpochOutcome.Repeated(_) => claimed.hasProgress = None
    }
    if (shipment.files.nonEmpty) claimed.files.foreach(_.removeUpTo(epoch))
    metrics.committed(sinkId, attempt, shipment, claimed.target.describe(shipment, messages.length), outcome)
  }

  override def abort(epoch: Long): Unit =
    if (transport != null) {
      claimed.target.abandoned()
      claimed.files.foreach(_.removeUpTo(epoch))
    }
}

final private class TransactionalBatchWrite(request: WriteRequest, whole: Boolean) extends BatchWrite {
  import request._

  private val id = s"${BatchCommit.IdPrefix}${UUID.randomUUID()}"
  private lazy val target = sink.prepare(id, schema)
  private var transport: Transport = _

  /** A batch has no checkpoint: its files are in a user's directory, or, if driver and executors are one process, in a
    * temporary one.
    */
  private lazy val rowFiles: Option[RowFiles] = Option
    .when(sink.usesFiles)(sink.settings.spillDirectory.orElse(engine.temporaryDirectory()))
    .flatten
    .map(directory => RowFiles(rowsBelow(directory), id.replace(':', '-')))

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory = QueryStop.guard {
    refused.orElse(sink.refuses(WriteKind(whole, None))).foreach(throw _)
    try transport = chosen(target, info.numPartitions, rowFiles)
    catch {
      case error: Throwable => // Spark ends the write without another call.
        sink.ended()
        throw error
    }
    writerFactory(target, transport)
  }

  private def refused: Option[EpochalException] =
    if (sink.settings.sinkId.nonEmpty)
      unsupported(
        "write a batch under a {option:sinkId}",
        "a batch has no epoch by which a second write could be recognised",
        "Leave {option:sinkId} out, or use writeStream with {trigger:availableNow}.")
    else if (sink.settings.onNewQuery.replaces)
      unsupported(
        "write a batch with {option:onNewQuery=replace}",
        "a batch is not a query",
        "Leave {option:onNewQuery} out, and write with .mode(\"overwrite\").")
    else None

  private def unsupported(mode: String, reason: String, suggestion: String): Option[EpochalException] =
    Some(OptionGroup.unsupported(sink.format, mode, reason, suggestion))

  override def useCommitCoordinator(): Boolean = false

  override def commit(messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    val shipment = transport.receive(Messages.of[TaskMessage](messages), BatchCommit.Epoch)
    new BatchCommit(target, sink.settings, whole).commit(shipment)
    if (shipment.files.nonEmpty) rowFiles.foreach(_.removeAll())
    sink.ended()
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit =
    if (transport != null)
      try {
        target.abandoned()
        rowFiles.foreach(_.removeAll())
      } finally sink.ended()

  override def toString: String = sink.description
}

/** Reads the offsets of an epoch from Spark's checkpoint.
  *
  * `offsets/<epoch>` holds a version, a line of settings and watermarks, and a line for each source. Only the sources' lines
  * determine the epoch's rows, so only they count. Version 2 names the sources, in any order.
  */
object CheckpointOffsets {

  /** 32 hexadecimal digits of SHA-256; None if the file does not exist or has an unknown format.
    *
    * @throws IOException
    *   if the file may exist and cannot be read: the epoch must not be recorded as one without offsets
    */
  def hash(checkpoint: String, epoch: Long, hadoop: Configuration): Option[String] =
    try {
      val file = new Path(new Path(checkpoint, "offsets"), epoch.toString)
      hash(new String(LoggedEpochs.bytes(file.getFileSystem(hadoop), file), UTF_8))
    } catch { case _: FileNotFoundException => None }

  private[epochal] def hash(text: String): Option[String] = text.split('\n').toList match {
    case "v1" :: _ :: sources => Some(digest("v1" :: sources))
    case "v2" :: _ :: sources => Some(digest("v2" :: sources.sorted))
    case _                    => None
  }

  private def digest(lines: Seq[String]): String = Sha256.hex(lines.mkString("\n"), 16)
}
