package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** A job of a continuous or real-time query that is about to start.
  *
  * @param epoch
  *   its first one: the one after the last that Spark has committed
  * @param partitions
  *   its tasks
  * @param offsetsHash
  *   of what the checkpoint has for the epoch before; None when there is none
  */
final case class ProgressStart(
    queryId: String,
    epoch: Long,
    trigger: TriggerMode,
    partitions: Int,
    generation: Long,
    runId: String,
    offsetsHash: Option[String]) {
  private[ledger] def before: Long = epoch - 1
}

/** What the task partitions begin with (K12). */
sealed trait StartDecision {
  def boundary: Boundary
}

object StartDecision {

  /** They go on from the end of the epoch before. What is stored beyond it is skipped. */
  final case class Resume(boundary: Boundary) extends StartDecision

  /** Nothing is stored beyond the epoch before: counts begin here, and what was kept of earlier ones is dropped. */
  final case class Anchor(boundary: Boundary) extends StartDecision

  /** @param row
    *   the sink's row, read under its lock
    */
  def decide(
      start: ProgressStart,
      row: LedgerRow,
      progress: Progress,
      onEmpty: OnLedgerEmpty): Either[EpochalException, StartDecision] = {
    val known = progress.boundary(start.before)
    if (row.generation != start.generation || row.runId != start.runId)
      Left(
        Conditions
          .SinkFenced("sinkId" -> row.sinkId, "generation" -> start.generation, "current" -> row.generation))
    else
      row.last match {
        case None if known.isDefined => resume(start, row, progress, known.get)
        case None if start.epoch == 0 || onEmpty == OnLedgerEmpty.Write(start.epoch) => Right(anchor(start))
        case None => Left(Conditions.LedgerEmpty("epoch" -> start.epoch, "sinkId" -> row.sinkId))
        case Some(last) =>
          ProgressOrder
            .refusal(row.sinkId, start.epoch, start.trigger, last)
            .toLeft(())
            .flatMap(_ =>
              known match {
                case Some(boundary) => resume(start, row, progress, boundary)
                case None if start.epoch > last.epoch && last.trigger == TriggerMode.MicroBatch => Right(anchor(start))
                case None => Left(lost(start, row, s"it has no end of epoch ${start.before}"))
              })
      }
  }

  /** Why a query in micro-batches may not go on, from which epoch it says: rows of it are stored already. */
  def refusesMicroBatches(epoch: Long, row: LedgerRow, progress: Progress): Option[EpochalException] = {
    def owed: Option[EpochalException] = progress.boundary(epoch - 1).flatMap { boundary =>
      val rows = progress.owed(boundary)
      Option.when(rows != 0)(owes(row, boundary, rows, s"the ${TriggerMode.MicroBatch.name} trigger"))
    }
    row.last
      .filter(last => last.epoch == epoch && last.trigger != TriggerMode.MicroBatch)
      .flatMap(ProgressOrder.refusal(row.sinkId, epoch, TriggerMode.MicroBatch, _))
      .orElse(owed)
  }

  private def resume(
      start: ProgressStart,
      row: LedgerRow,
      progress: Progress,
      boundary: Boundary): Either[EpochalException, StartDecision] = {
    val owed = progress.owed(boundary)
    val same = boundary.trigger == start.trigger && boundary.ends.size == start.partitions
    (boundary.offsetsHash, start.offsetsHash) match {
      case (Some(then), Some(now)) if then != now =>
        Left(
          Conditions.EpochOffsetsChanged(
            "epoch" -> start.before,
            "sinkId" -> row.sinkId,
            "ledgerHash" -> then,
            "checkpointHash" -> now))
      case _ =>
        progress.contradiction(boundary) match {
          case Some(reason)      => Left(lost(start, row, reason))
          case None if same      => Right(Resume(boundary))
          case None if owed == 0 => Right(anchor(start))
          case None =>
            val change =
              if (boundary.trigger != start.trigger) s"the ${start.trigger.name} trigger"
              else s"${start.partitions} partitions"
            Left(owes(row, boundary, owed, change))
        }
    }
  }

  private def anchor(start: ProgressStart): StartDecision = Anchor(
    Boundary(
      start.before,
      start.trigger,
      start.offsetsHash,
      (0 until start.partitions).map(_ -> Position.newCount()).toMap))

  private def owes(row: LedgerRow, boundary: Boundary, rows: Long, change: String): EpochalException =
    Conditions.RowsOwed(
      "sinkId" -> row.sinkId,
      "owed" -> rows,
      "last" -> boundary.epoch,
      "known" -> boundary.trigger.name,
      "partitions" -> boundary.ends.size,
      "change" -> change)

  private def lost(start: ProgressStart, row: LedgerRow, reason: String): EpochalException =
    Conditions.ProgressLost("sinkId" -> row.sinkId, "epoch" -> start.epoch, "reason" -> reason)
}
