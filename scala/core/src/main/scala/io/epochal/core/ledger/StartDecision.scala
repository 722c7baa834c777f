package io.epochal.core.ledger

import io.epochal.core.error.{Condition, Conditions, EpochalException}

/** The positions from which the task partitions start: the end of the epoch before. Rows stored beyond it are skipped.
  *
  * @param newCounts
  *   none are stored beyond it: counts begin here, and earlier progress is dropped
  */
final case class StartDecision(boundary: Boundary, newCounts: Boolean)

object StartDecision {

  /** Decides the start of a job.
    *
    * @param row
    *   the sink's row, read under its lock
    */
  def decide(
      start: ProgressStart,
      row: LedgerRow,
      progress: Progress,
      onEmpty: OnLedgerEmpty): Either[EpochalException, StartDecision] = {
    val storedBoundary = progress.boundary(start.before)
    EpochDecision.fence(start.generation, start.runId, row).flatMap { _ =>
      (row.last, storedBoundary) match {
        case (None, Some(boundary)) => resume(start, row, progress, boundary)
        case (None, _) if start.epoch == 0 || onEmpty == OnLedgerEmpty.Write(start.epoch) => Right(anchor(start))
        case (None, _) => Left(Conditions.LedgerEmpty("epoch" -> start.epoch, "sinkId" -> row.sinkId))
        case (Some(last), _) =>
          EpochDecision
            .inOrder(row.sinkId, start.epoch, start.trigger, last)
            .flatMap(_ =>
              storedBoundary match {
                case Some(boundary) => resume(start, row, progress, boundary)
                case None if start.epoch > last.epoch && last.trigger == TriggerMode.MicroBatch => Right(anchor(start))
                case None => Left(lossError(start, row, s"it has no end of epoch ${start.before}"))
              })
      }
    }
  }

  /** Why the query may not run in micro-batches from this epoch: some of its rows are stored already. */
  def refusesMicroBatches(epoch: Long, row: LedgerRow, progress: Progress): Option[EpochalException] = {
    def owed: Option[EpochalException] = progress.boundary(epoch - 1).flatMap { boundary =>
      val rows = progress.owed(boundary)
      Option.when(rows != 0)(owes(row, boundary, rows, s"the ${TriggerMode.MicroBatch.name} trigger"))
    }
    row.last
      .filter(last => last.epoch == epoch && last.trigger != TriggerMode.MicroBatch)
      .flatMap(EpochDecision.inOrder(row.sinkId, epoch, TriggerMode.MicroBatch, _).left.toOption)
      .orElse(owed)
  }

  private def resume(
      start: ProgressStart,
      row: LedgerRow,
      progress: Progress,
      boundary: Boundary): Either[EpochalException, StartDecision] = {
    val owed = progress.owed(boundary)
    val same = boundary.trigger == start.trigger && boundary.ends.size == start.partitions && !start.regrouped
    def change =
      if (boundary.trigger != start.trigger) s"the ${start.trigger.name} trigger"
      else if (boundary.ends.size != start.partitions) s"${start.partitions} partitions"
      else "partitions that the source has divided in another way"
    def condition = if (start.regrouped) Regrouped else Conditions.RowsOwed
    for {
      _ <- EpochDecision.sameOffsets(row.sinkId, start.before, boundary.offsetsHash, start.offsetsHash)
      _ <- progress.contradiction(boundary).map(lossError(start, row, _)).toLeft(())
      _ <- Either.cond(same || owed == 0, (), owes(row, boundary, owed, change, condition))
    } yield if (same) StartDecision(boundary, newCounts = false) else anchor(start)
  }

  private def anchor(start: ProgressStart): StartDecision = {
    val ends = (0 until start.partitions).map(_ -> Position.newCount()).toMap
    StartDecision(Boundary(start.before, start.trigger, start.offsetsHash, ends), newCounts = true)
  }

  private val Regrouped = Conditions.RowsOwed.withHint(
    "Nothing was written. The rows beyond that end belong to the former partitions: let the source have these again, or start with " +
      "a new checkpoint.")

  private def owes(
      row: LedgerRow,
      boundary: Boundary,
      rows: Long,
      change: String,
      condition: Condition = Conditions.RowsOwed): EpochalException =
    condition(
      "sinkId" -> row.sinkId,
      "owed" -> rows,
      "place" -> (if (boundary.epoch < 0) "in its first epoch" else s"beyond the end of epoch ${boundary.epoch}"),
      "known" -> boundary.trigger.name,
      "partitions" -> boundary.ends.size,
      "change" -> change)

  private def lossError(start: ProgressStart, row: LedgerRow, reason: String): EpochalException =
    Conditions.ProgressLost("sinkId" -> row.sinkId, "epoch" -> start.epoch, "reason" -> reason)
}
