package io.epochal.kit.sink

import io.epochal.core.error.EpochalException
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger._

/** The start of a job of a continuous or real-time query.
  *
  * @param boundary
  *   the position from which each task partition delivers
  * @param owed
  *   number of rows stored beyond the boundary, which are skipped when they arrive
  */
final private[sink] case class Begin(boundary: Boundary, owed: Long)

/** The driver's transactions of a continuous or real-time query, with retries after transient failures. */
final private[sink] class ProgressCommits(target: SinkTarget, sinkId: String, settings: SinkSettings) {

  /** Called before the tasks of a job start: they resume from the last boundary, or count from 0 from here on
    * ([[StartDecision]]).
    *
    * Tasks of the previous job of this run may still be running. Their current flushes are waited for; if the counts
    * restart, later ones fail.
    *
    * @param decided
    *   done if the job may start, while the ledger's row is locked
    * @throws io.epochal.core.error.EpochalException
    *   the ledger does not fit the start: see [[StartDecision.decide]]; LEDGER_EMPTY if the sink has no row
    */
  def begin(start: ProgressStart)(decided: => Unit): Begin =
    target.attempt(s"the start of epoch ${start.epoch}") { transaction =>
      val row = transaction.ledgerRow().getOrElse(throw Claims.lost(sinkId, start.epoch))
      val progress = transaction.progress.get
      progress.lock()
      val known = progress.read(start.queryId)
      val decision = StartDecision.decide(start, row, known, settings.onLedgerEmpty).fold(throw _, identity)
      progress.prepare()
      import decision.boundary
      if (decision.newCounts) progress.anchor(start.queryId, boundary)
      else if (boundary.offsetsHash.isEmpty) start.offsetsHash.foreach(progress.note(start.queryId, boundary.epoch, _))
      decided
      transaction.commit()
      Begin(boundary, if (decision.newCounts) 0L else known.owed(boundary))
    }

  /** Records the end of an epoch. If the response to COMMIT is lost, the ledger shows whether it was committed.
    *
    * @param ends
    *   the position of each task partition at the end of the epoch
    * @param check
    *   throws if the epoch must not be committed; called while the ledger's row is locked
    */
  def end(attempt: EpochAttempt, ends: Map[Int, Position])(check: => Unit): Unit =
    target.attempt(s"the commit of epoch ${attempt.epoch}") { transaction =>
      val row = EpochCommit.row(transaction, sinkId, attempt.epoch)
      val known = transaction.progress.get.read(attempt.queryId)
      transaction.doubt
        .resolve(attempt.epoch.toString)(Option.when(landed(attempt, ends, row, known))(()))
        .getOrElse {
          val commit = ProgressCommit.decide(attempt, ends, row, known).fold(throw _, identity)
          check
          transaction.progress.get.record(commit)
          Failpoints.reach(Failpoint.LedgerWritten)
          EpochCommit.commit(transaction)
        }
    }

  private def landed(attempt: EpochAttempt, ends: Map[Int, Position], row: LedgerRow, known: Progress): Boolean =
    EpochDecision.landed(attempt, row).fold(throw _, identity) &&
      known.boundary(attempt.epoch).exists(_.ends == ends)

  /** Called before the first micro-batch of a run, and after one that was committed before.
    *
    * @param epoch
    *   the micro-batch; None: the one after the last committed epoch
    * @param refused
    *   done if that trigger must run first, while the ledger's row is locked, unless a newer run has claimed the sink
    * @return
    *   whether the query has progress of a continuous or real-time run, which the micro-batch then removes. Left: that
    *   trigger must run first, because it has committed this epoch, or rows are owed. Then no micro-batch has committed
    *   the epoch: its commit would have removed the progress
    */
  def endsWithMicroBatches(queryId: String, epoch: Option[Long], claimed: LedgerRow)(
      refused: => Unit): Either[EpochalException, Boolean] =
    target.attempt("the look at what is stored already") { transaction =>
      transaction.progress.fold[Either[EpochalException, Boolean]](Right(false)) { progress =>
        val found = transaction.ledgerRow().getOrElse(throw Claims.lost(sinkId, epoch.getOrElse(0L)))
        // If the row belongs to another query, this one replaces it, and the other's last epoch does not count.
        val row = if (found.queryId == queryId) found else found.copy(last = None)
        val known = progress.read(queryId)
        val first = epoch.getOrElse(row.last.fold(0L)(_.epoch + 1))
        val refusal = StartDecision.refusesMicroBatches(first, row, known)
        if (refusal.nonEmpty && found.generation == claimed.generation && found.runId == claimed.runId) refused
        refusal.toLeft(known != Progress.Empty)
      }
    }
}
