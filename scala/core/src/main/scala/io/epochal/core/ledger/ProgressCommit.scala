package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** What the end of an epoch of a continuous or real-time query adds to the ledger (K12). Its rows are stored.
  *
  * @param row
  *   names the epoch in `last`
  * @param boundary
  *   takes the place of one that an earlier run left of this epoch
  * @param added
  *   rows by which the query is further than the ledger knew; negative where a shorter run of the epoch follows a longer one
  */
final case class ProgressCommit(row: LedgerRow, boundary: Boundary, added: Long)

object ProgressCommit {

  /** @param ends
    *   where each task partition was when its task ended the epoch
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
    if (EpochDecision.fences(attempt, row)) Left(EpochDecision.fenced(attempt, row))
    else
      for {
        _ <- row.last.flatMap(ProgressOrder.refusal(row.sinkId, attempt.epoch, attempt.trigger, _)).toLeft(())
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

/** Which epoch may follow the last one of the ledger. */
private[ledger] object ProgressOrder {

  def refusal(sinkId: String, epoch: Long, trigger: TriggerMode, last: AppliedEpoch): Option[EpochalException] =
    if (epoch > last.epoch + 1)
      Some(
        Conditions
          .EpochGap("epoch" -> epoch, "sinkId" -> sinkId, "last" -> last.epoch, "missing" -> (epoch - last.epoch - 1)))
    else if (epoch < last.epoch)
      Some(Conditions.EpochRegressed("epoch" -> epoch, "sinkId" -> sinkId, "last" -> last.epoch))
    else if (epoch == last.epoch && trigger != last.trigger)
      Some(Conditions
        .TriggerChanged("epoch" -> epoch, "sinkId" -> sinkId, "known" -> last.trigger.name, "trigger" -> trigger.name))
    else None
}
