package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** Where the task partitions were at the end of an epoch: rows delivered, whether they were stored then or before.
  *
  * @param trigger
  *   under which the rows after it are stored
  * @param offsetsHash
  *   of the offsets that Spark logged for the epoch; None where they were not logged yet
  */
final case class Boundary(epoch: Long, trigger: TriggerMode, offsetsHash: Option[String], ends: Map[Int, Position]) {

  def rows: Long = ends.valuesIterator.map(_.rows).sum
}

/** What the ledger holds of a query that stores rows in the middle of its epochs (K12).
  *
  * {{{
  *   rows of a partition, as the source has them
  *   0 ────────── boundary(e - 1) ────── boundary(e) ─────── applied
  *   │   proven committed by Spark  │  may be run again        │
  *                                     rows that are owed: skipped when they are delivered again
  * }}}
  *
  * @param boundaries
  *   of the latest epochs
  * @param applied
  *   by task partition, up to where its rows are stored
  */
final case class Progress(boundaries: Seq[Boundary], applied: Map[Int, Position]) {

  def boundary(epoch: Long): Option[Boundary] = boundaries.find(_.epoch == epoch)

  /** Rows that are stored beyond a boundary. */
  def owed(boundary: Boundary): Long =
    boundary.ends.iterator.map { case (partition, end) => applied.get(partition).fold(0L)(_.rows - end.rows) }.sum

  /** Why the positions cannot be those of one query that went on from the boundary. */
  private[ledger] def contradiction(boundary: Boundary): Option[String] = {
    val partitions = boundary.ends.keySet
    if (partitions != (0 until partitions.size).toSet || partitions != applied.keySet)
      Some(s"it has ends of ${partitions.size} partitions, and progress of ${applied.size}")
    else
      boundary.ends.toSeq.sortBy(_._1).collectFirst {
        case (partition, end) if applied(partition).rows < end.rows =>
          s"partition $partition had delivered ${end.rows} rows, of which only ${applied(partition).rows} are stored"
        case (partition, end) if applied(partition).rows == end.rows && applied(partition) != end =>
          s"partition $partition has other rows than it had delivered"
      }
  }
}

object Progress {
  val Empty: Progress = Progress(Nil, Map.empty)
}

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
