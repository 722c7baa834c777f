package io.epochal.kit.sink

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{
  Boundary,
  EpochAttempt,
  EpochDecision,
  LedgerRow,
  Position,
  Progress,
  ProgressCommit,
  ProgressStart,
  StartDecision,
  TriggerMode
}
import io.epochal.kit.sink.flush.FlushMessage
import io.epochal.kit.sink.row.BadRows
import io.epochal.kit.spark.{EndlessQuery, QueryStop}

/** The driver's part under a continuous or real-time trigger (K12): tasks themselves store rows in the middle of an epoch; at
  * its end the driver records their positions in the ledger.
  *
  * {{{
  *   factory: refuse ── claim ── begin (what is stored, what is owed) ── tasks: skip what is owed, flush, flush, … ── message
  *   commit:  lock the ledger row ── decide ── boundary and ledger row ── COMMIT
  * }}}
  *
  * Real-time creates one for each epoch. Continuous creates one for a run, and calls `commit` in a thread of its own without an
  * active session: values of the session are read when the run begins.
  */
final private[sink] class FlushingCommit(write: TransactionalWrite) extends CommitStrategy {
  import FlushingCommit._
  import write._
  import write.request._

  private lazy val progress = new ProgressCommits(claimed.target, sinkId, sink.settings)
  private var steering: EndlessQuery = _
  private var hadoop: Configuration = _

  override def begin(tasks: Int): StreamingDataWriterFactory = {
    sink.refusesEndless(WriteKind(whole, Some(query.outputMode), query.trigger)).foreach(throw _)
    steering = engine.endlessQuery(queryId, query.trigger).fold(throw _, identity)
    hadoop = engine.hadoop
    steering.unrepeatable.foreach(reason => throw uncounted(reason))
    val epoch = steering.firstEpoch
    metrics.show(sink.settings.sinkId)
    if (!claimed.target.flushes) MicroBatches.refused(sink.format, query.trigger).foreach(throw _)
    val flush = claimed.target.flush(queryId)
    val begin = progress.begin(
      ProgressStart(
        queryId,
        epoch,
        query.trigger,
        tasks,
        claimed.row.generation,
        claimed.row.runId,
        loggedHash(epoch - 1)))
    steering.dropUncommittedOffsets()
    log.info(
      s"${sink.format}: sink '{}' begins epoch {} under the ${query.trigger.name} trigger: {} rows are stored beyond it already",
      sinkId,
      Long.box(epoch),
      Long.box(begin.owed))
    new FlushWriterFactory(
      flush,
      claimed.target.rowFormat,
      schema,
      BadRows(sink.settings.badRowLimit, schema, claimed.target.name),
      sink.settings.flush,
      (0 until tasks).map(begin.boundary.ends(_)).toArray[Position]
    )
  }

  override def commit(epoch: Long, messages: Array[WriterCommitMessage]): Unit =
    try QueryStop.guard(end(epoch, Messages.of[FlushMessage](messages)))
    catch {
      case NonFatal(error) =>
        if (query.trigger == TriggerMode.Continuous) stop(error)
        throw error
    }

  private def end(epoch: Long, messages: Seq[FlushMessage]): Unit = {
    val hash = loggedHash(epoch)
    if (isForeign(epoch, hash)) throw Conditions.EpochLoggedByOther("epoch" -> epoch, "sinkId" -> sinkId)
    val attempt = EpochAttempt(
      queryId,
      epoch,
      claimed.row.generation,
      claimed.row.runId,
      query.trigger,
      hash,
      messages.map(_.delivered).reduce(_ + _))
    val began = System.nanoTime()
    progress.end(attempt, messages.map(message => message.partition -> message.end).toMap)
    metrics.flushed(sinkId, attempt, messages, System.nanoTime() - began)
  }

  /** Real-time logs an epoch's offsets after this, continuous before. */
  private def isForeign(epoch: Long, hash: Option[String]): Boolean = query.trigger match {
    case TriggerMode.RealTime => hash.isDefined
    case _                    => hash.isEmpty || !steering.loggedOffsets(epoch)
  }

  private def loggedHash(epoch: Long): Option[String] =
    if (epoch < 0) None else CheckpointOffsets.hash(query.checkpoint, epoch, hadoop)

  /** Stops the query: Spark would continue, and never commit an epoch again. */
  private def stop(error: Throwable): Unit = {
    try claimed.target.failed(String.valueOf(error.getMessage))
    catch {
      case NonFatal(second) =>
        log.warn("{}: the failure could not be recorded in the ledger: {}", sink.format, second: Any)
    }
    try steering.fail(error)
    catch {
      case NonFatal(second) => log.error(s"${sink.format}: the query could not be stopped after a failure", second)
    }
  }

  private def uncounted(reason: String): EpochalException = Conditions.ModeUnsupported(
    "format" -> sink.format,
    "mode" -> s"write this query under the ${query.trigger.name} trigger",
    "reason" -> s"rows that are stored before their epoch ends are recognised by their place in one source's partition, and $reason",
    "suggestion" -> "Keep to one source, columns computed from its own, and filters; or use {trigger:processingTime=1 second}."
  )

  /** Rows that tasks have stored stay, and the ledger has their positions. */
  override def abort(epoch: Long): Unit = ()
}

private object FlushingCommit {
  private val log = LoggerFactory.getLogger(classOf[FlushingCommit])
}

/** The start of a job of a continuous or real-time query.
  *
  * @param owed
  *   rows that are stored beyond it, and skipped when they arrive
  */
final private[sink] case class Begin(boundary: Boundary, owed: Long)

/** The driver's transactions of a continuous or real-time query (K12). */
final private[sink] class ProgressCommits(target: SinkTarget, sinkId: String, settings: SinkSettings) {

  /** Before the tasks of a job: finds where they begin, or begins new counts there. Tasks of the previous job may still be
    * running, in the same run: waits for what they are storing; after new counts they store nothing more.
    */
  def begin(start: ProgressStart): Begin =
    target.inTransaction(s"the start of epoch ${start.epoch}") { transaction =>
      val row = transaction.ledgerRow().getOrElse(throw lost(start.epoch))
      val progress = transaction.progress.get
      progress.lock()
      val known = progress.read(start.queryId)
      val decision = StartDecision.decide(start, row, known, settings.onLedgerEmpty).fold(throw _, identity)
      progress.prepare()
      val owed = decision match {
        case StartDecision.Resume(boundary) =>
          if (boundary.offsetsHash.isEmpty) start.offsetsHash.foreach(progress.note(start.queryId, boundary.epoch, _))
          known.owed(boundary)
        case StartDecision.Anchor(boundary) =>
          progress.anchor(start.queryId, boundary)
          0L
      }
      transaction.commit()
      Begin(decision.boundary, owed)
    }

  /** After the tasks have ended an epoch. A lost COMMIT response is resolved through the ledger (K7). */
  def end(attempt: EpochAttempt, ends: Map[Int, Position]): Unit =
    new CommitDoubt(target, attempt.epoch.toString, inLedger = true)
      .inTransaction(s"the commit of epoch ${attempt.epoch}") { (transaction, doubt) =>
        Failpoints.reach(Failpoint.BeforeLedgerLock)
        val row = transaction.ledgerRow().getOrElse(throw lost(attempt.epoch))
        val known = transaction.progress.get.read(attempt.queryId)
        if (!(doubt.isOpen && landed(attempt, ends, row, known))) {
          val commit = ProgressCommit.decide(attempt, ends, row, known).fold(throw _, identity)
          transaction.progress.get.record(commit)
          Failpoints.reach(Failpoint.LedgerWritten)
          doubt.commit(transaction)
        }
      }

  private def landed(attempt: EpochAttempt, ends: Map[Int, Position], row: LedgerRow, known: Progress): Boolean =
    EpochDecision.landed(attempt, row).fold(throw _, identity) &&
      known.boundary(attempt.epoch).exists(_.ends == ends)

  /** Before micro-batches: whether the ledger has rows of a continuous or real-time run. Left if that trigger must run first:
    * it has committed this epoch, or rows are owed. No micro-batch has then committed the epoch, which would have removed those
    * entries.
    */
  def endsWithMicroBatches(queryId: String, epoch: Option[Long]): Either[EpochalException, Boolean] =
    target.inTransaction("the look at what is stored already") { transaction =>
      transaction.progress.fold[Either[EpochalException, Boolean]](Right(false)) { progress =>
        val found = transaction.ledgerRow().getOrElse(throw lost(epoch.getOrElse(0L)))
        // This query replaces the other one, and does not resume its progress.
        val row = if (found.queryId == queryId) found else found.copy(last = None)
        val known = progress.read(queryId)
        val first = epoch.getOrElse(row.last.fold(0L)(_.epoch + 1))
        StartDecision.refusesMicroBatches(first, row, known).toLeft(known != Progress.Empty)
      }
    }

  private def lost(epoch: Long): EpochalException =
    Conditions.LedgerEmpty("epoch" -> epoch, "sinkId" -> sinkId)
}
