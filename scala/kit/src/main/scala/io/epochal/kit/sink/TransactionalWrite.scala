package io.epochal.kit.sink

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}

import io.epochal.core.hash.Sha256
import io.epochal.core.ledger.{ContentDigest, EpochAttempt, TriggerMode}
import io.epochal.kit.sink.transport.RowFiles
import io.epochal.kit.spark.{QueryStop, RunningQuery}
import io.epochal.kit.store.LoggedEpochs

/** The driver's part of a query's epochs. The trigger decides how they are committed, and is known once the query runs. */
final private[sink] class TransactionalWrite(val request: WriteRequest, val whole: Boolean) extends StreamingWrite {
  import request._

  val sinkId: String = sink.settings.sinkId.getOrElse(queryId)
  lazy val query: RunningQuery = engine.runningQuery(queryId).fold(throw _, identity)

  lazy val epochs: LoggedEpochs = new LoggedEpochs(new Path(query.checkpoint), engine.hadoop)

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

  def attempt(epoch: Long, digest: ContentDigest): EpochAttempt =
    EpochAttempt(
      queryId,
      epoch,
      claimed.row.generation,
      claimed.row.runId,
      query.trigger,
      epochs.offsetsHash(epoch),
      digest,
      before => Option.when(epochs.repartitions(before))(before).flatMap(epochs.offsetsHash),
      epochs.offsetsHash
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
