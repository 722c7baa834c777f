package io.epochal.kit.sink

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
  StartDecision
}

/** What a job of a continuous or real-time query begins with.
  *
  * @param owed
  *   rows that are stored beyond it, and are skipped when they come
  */
final private[sink] case class Begin(boundary: Boundary, owed: Long)

/** The driver's transactions of a continuous or real-time query (K12). */
final private[sink] class ProgressCommits(target: SinkTarget, sinkId: String, settings: SinkSettings) {

  /** Before the tasks of a job: finds where they begin, or begins there with new counts. Tasks of the job before may still be
    * at work, in the same run: what they are storing is waited for, and after new counts they store nothing more.
    */
  def begin(start: ProgressStart): Begin =
    target.transaction(s"the start of epoch ${start.epoch}") { transaction =>
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

  /** After the tasks have ended an epoch. Should the response to the COMMIT be lost, it is found in the ledger (K7). */
  def end(attempt: EpochAttempt, ends: Map[Int, Position]): Unit =
    new CommitDoubt(target, attempt.epoch.toString, inLedger = true).run(s"the commit of epoch ${attempt.epoch}") {
      (transaction, doubt) =>
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

  /** Before micro-batches: whether the ledger tells of rows of a continuous or real-time run. Left where that must run first: it
    * has committed this epoch, or rows are owed. No micro-batch has committed it then, which would have ended what is told of them.
    */
  def endsWithMicroBatches(queryId: String, epoch: Option[Long]): Either[EpochalException, Boolean] =
    target.transaction("the look at what is stored already") { transaction =>
      transaction.progress.fold[Either[EpochalException, Boolean]](Right(false)) { progress =>
        val found = transaction.ledgerRow().getOrElse(throw lost(epoch.getOrElse(0L)))
        // What another query had, which this one replaces, is nothing that it has to go on with.
        val row = if (found.queryId == queryId) found else found.copy(last = None)
        val known = progress.read(queryId)
        val first = epoch.getOrElse(row.last.fold(0L)(_.epoch + 1))
        StartDecision.refusesMicroBatches(first, row, known).toLeft(known != Progress.Empty)
      }
    }

  private def lost(epoch: Long): EpochalException =
    Conditions.LedgerEmpty("epoch" -> epoch, "sinkId" -> sinkId)
}
