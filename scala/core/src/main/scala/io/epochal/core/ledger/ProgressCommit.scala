package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** The ledger's update at the end of an epoch of a continuous or real-time query. Its rows are stored.
  *
  * @param row
  *   names the epoch in `last`
  * @param boundary
  *   replaces the boundary that an earlier run left for this epoch
  * @param added
  *   rows that the ledger did not know of; negative if a shorter run of the epoch follows a longer one
  */
final case class ProgressCommit(row: LedgerRow, boundary: Boundary, added: Long)

object ProgressCommit {

  /** Decides the commit of an epoch.
    *
    * @param ends
    *   the positions of the task partitions when their tasks ended the epoch
    * @param row
    *   the sink's row, read under its lock
    */
  def decide(
      attempt: EpochAttempt,
      ends: Map[Int, Position],
      row: LedgerRow,
      progress: Progress): Either[EpochalException, ProgressCommit] = {
    def lost(reason: String): EpochalException =
      Conditions.ProgressLost("sinkId" -> row.sinkId, "epoch" -> attempt.epoch, "reason" -> reason)
    for {
      _ <- EpochDecision.fence(attempt.generation, attempt.runId, row)
      _ <- row.last.fold[Either[EpochalException, Unit]](Right(()))(
        EpochDecision.inOrder(row.sinkId, attempt.epoch, attempt.trigger, _))
      begin <- progress
        .boundary(attempt.epoch - 1)
        .filter(_.trigger == attempt.trigger)
        .toRight(lost(s"it has no end of epoch ${attempt.epoch - 1}"))
      _ <- contradiction(ends, begin, progress).map(lost).toLeft(())
    } yield {
      val counted = progress.boundary(attempt.epoch).filter(_ => row.last.exists(_.epoch == attempt.epoch))
      val boundary = Boundary(attempt.epoch, attempt.trigger, attempt.offsetsHash, ends)
      ProgressCommit(row.copy(last = Some(attempt.applied)), boundary, boundary.rows - counted.getOrElse(begin).rows)
    }
  }

  private def contradiction(ends: Map[Int, Position], begin: Boundary, progress: Progress): Option[String] =
    if (ends.keySet != begin.ends.keySet)
      Some(s"the epoch began in ${begin.ends.size} partitions, and ended in ${ends.size}")
    else
      ends.toSeq
        .sortBy(_._1)
        .collectFirst {
          case (partition, end) if end.rows < begin.ends(partition).rows =>
            s"partition $partition ended at row ${end.rows}, before it began"
        }
        .orElse(progress.contradiction(begin.copy(ends = ends)))
}
