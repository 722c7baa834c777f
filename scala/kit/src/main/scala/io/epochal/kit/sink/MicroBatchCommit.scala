package io.epochal.kit.sink

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.slf4j.LoggerFactory

import io.epochal.kit.sink.transport.{TaskMessage, Transport}
import io.epochal.kit.spark.QueryStop

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
    try { val _ = epochs.takeBack(epoch) }
    catch {
      case NonFatal(error) =>
        LoggerFactory.getLogger(getClass).warn(s"Epoch $epoch stays in the offset log of ${query.checkpoint}: $error")
    }

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit = QueryStop.guard {
    val shipment = transport.receive(Messages.of[TaskMessage](messages), epoch.toString)
    val attempt = write.attempt(epoch, shipment.digest)
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
