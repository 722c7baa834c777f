package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** The decision about an epoch: it is applied once, and only by the run that has claimed the sink last. */
sealed trait EpochDecision

object EpochDecision {

  /** Commit its rows and `row` in one transaction. */
  final case class Apply(row: LedgerRow) extends EpochDecision

  /** Empty the target, and commit the epoch's rows and `row`, in one transaction. If the ledger's row belongs to another query,
    * the ledger keeps that row too, in case that query returns.
    */
  final case class Replace(row: LedgerRow) extends EpochDecision

  /** The user states that its rows are in the table: commit `row` alone. */
  final case class Adopt(row: LedgerRow) extends EpochDecision

  /** The epoch was applied before: nothing to do, and a success.
    *
    * @param contentDiffers
    *   the same offsets produced other rows this time: the plan is not repeatable, and the first application stands
    */
  final case class AlreadyApplied(contentDiffers: Boolean) extends EpochDecision

  /** Decides about an epoch.
    *
    * @param row
    *   the sink's row, read under its lock
    * @param replaces
    *   whether the query's first epoch empties the target ([[OnNewQuery]])
    * @param lastRun
    *   the run that committed the last epoch, for messages
    */
  def decide(
      attempt: EpochAttempt,
      row: LedgerRow,
      onEmpty: OnLedgerEmpty,
      onMismatch: OnEpochMismatch,
      replaces: Boolean,
      lastRun: => Option[String] = None
  ): Either[EpochalException, EpochDecision] =
    fence(attempt.generation, attempt.runId, row).flatMap { _ =>
      row.last match {
        case _ if row.queryId != attempt.queryId                  => replace(attempt, row, replaces)
        case None if onEmpty == OnLedgerEmpty.Skip(attempt.epoch) => Right(Adopt(appliedRow(attempt, row)))
        case None if replaces && attempt.epoch == 0               => Right(Replace(appliedRow(attempt, row)))
        case None if attempt.epoch == 0 || onEmpty == OnLedgerEmpty.Write(attempt.epoch) =>
          Right(Apply(appliedRow(attempt, row)))
        case None => Left(Conditions.LedgerEmpty("epoch" -> attempt.epoch, "sinkId" -> row.sinkId))
        case Some(last) if attempt.epoch < last.epoch && last.offsetsHash.exists(attempt.logged(last.epoch).contains) =>
          Left(overtaking(attempt.epoch, row.sinkId, last, lastRun))
        case Some(last) =>
          inOrder(row.sinkId, attempt.epoch, attempt.trigger, last, attempt.repartitions).flatMap(_ =>
            if (attempt.epoch > last.epoch) Right(Apply(appliedRow(attempt, row)))
            else replay(attempt, last, row, onMismatch))
      }
    }

  /** After a connection was lost during COMMIT: whether that commit landed.
    *
    * @param row
    *   the sink's row, read under its lock on a new connection, which proves that the lost one has ended
    */
  def landed(attempt: EpochAttempt, row: LedgerRow): Either[EpochalException, Boolean] =
    fence(attempt.generation, attempt.runId, row).map(_ =>
      row.queryId == attempt.queryId && row.last.contains(attempt.applied))

  /** The error for a query that would omit rows if it replaced another. */
  private[ledger] def incomplete(queryId: String, row: LedgerRow, reason: String): EpochalException =
    Conditions.ReplacementIncomplete(
      "queryId" -> queryId,
      "known" -> row.queryId,
      "sinkId" -> row.sinkId,
      "reason" -> reason)

  /** The checkpoint has the ledger's last epoch: it was not rewound, but another driver wrote it since this run read it. */
  private def overtaking(epoch: Long, sinkId: String, last: AppliedEpoch, lastRun: Option[String]): EpochalException =
    Conditions.EpochRegressed.withHint(
      s"Another driver${lastRun.fold("")(run => s" ($run)")} runs this query with the same checkpoint: it committed epoch <last> " +
        "after this run had read the checkpoint. It can no longer commit (SINK_FENCED). End it, and start this query again: it continues after epoch <last>.")(
      "epoch" -> epoch,
      "sinkId" -> sinkId,
      "last" -> last.epoch)

  /** The claim left the row to the previous query. */
  private def replace(
      attempt: EpochAttempt,
      row: LedgerRow,
      replaces: Boolean): Either[EpochalException, EpochDecision] =
    if (!replaces) Left(otherQuery(row, attempt.queryId, row.queryId))
    else if (attempt.epoch > 0)
      Left(incomplete(attempt.queryId, row, s"it is at epoch ${attempt.epoch} already"))
    else Right(Replace(appliedRow(attempt, row).copy(queryId = attempt.queryId)))

  private def appliedRow(attempt: EpochAttempt, row: LedgerRow): LedgerRow = row.copy(last = Some(attempt.applied))

  private def replay(
      attempt: EpochAttempt,
      last: AppliedEpoch,
      row: LedgerRow,
      onMismatch: OnEpochMismatch
  ): Either[EpochalException, EpochDecision] = {
    val contentDiffers = attempt.digest != last.digest
    (last.offsetsHash, attempt.offsetsHash) match {
      case (before, now) if before.isDefined && now.isDefined =>
        sameOffsets(row.sinkId, attempt.epoch, before, now).map(_ => AlreadyApplied(contentDiffers))
      case _ if !contentDiffers || onMismatch == OnEpochMismatch.Keep => Right(AlreadyApplied(contentDiffers))
      case _ =>
        Left(
          Conditions.EpochContentChanged(
            "epoch" -> attempt.epoch,
            "sinkId" -> row.sinkId,
            "ledgerRows" -> last.digest.rows,
            "ledgerDigest" -> last.digest.hex,
            "rows" -> attempt.digest.rows,
            "digest" -> attempt.digest.hex
          )
        )
    }
  }

  /** An error unless the run is the newest one of the sink. */
  private[ledger] def fence(generation: Long, runId: String, row: LedgerRow): Either[EpochalException, Unit] =
    Either.cond(
      row.generation == generation && row.runId == runId,
      (),
      Conditions.SinkFenced("sinkId" -> row.sinkId, "generation" -> generation, "current" -> row.generation))

  /** An error unless the epoch follows the last one of the ledger, or is that one under the same trigger. Epochs that only
    * repartitioned the state, with the last one's offsets, may be between them.
    */
  private[ledger] def inOrder(
      sinkId: String,
      epoch: Long,
      trigger: TriggerMode,
      last: AppliedEpoch,
      repartitions: Long => Option[String] = _ => None): Either[EpochalException, Unit] =
    if ((last.epoch + 1 until epoch).exists(between => repartitions(between).forall(!last.offsetsHash.contains(_))))
      Left(
        Conditions
          .EpochGap("epoch" -> epoch, "sinkId" -> sinkId, "last" -> last.epoch, "missing" -> (epoch - last.epoch - 1)))
    else if (epoch < last.epoch)
      Left(Conditions.EpochRegressed("epoch" -> epoch, "sinkId" -> sinkId, "last" -> last.epoch))
    else if (epoch == last.epoch && trigger != last.trigger)
      Left(Conditions
        .TriggerChanged("epoch" -> epoch, "sinkId" -> sinkId, "known" -> last.trigger.name, "trigger" -> trigger.name))
    else Right(())

  /** An error if both hashes of an epoch's offsets are known and differ. */
  private[ledger] def sameOffsets(
      sinkId: String,
      epoch: Long,
      known: Option[String],
      now: Option[String]): Either[EpochalException, Unit] =
    known
      .zip(now)
      .collect {
        case (ledger, checkpoint) if ledger != checkpoint =>
          Conditions.EpochOffsetsChanged(
            "epoch" -> epoch,
            "sinkId" -> sinkId,
            "ledgerHash" -> ledger,
            "checkpointHash" -> checkpoint)
      }
      .toLeft(())

  private[ledger] def otherQuery(row: LedgerRow, queryId: String, accept: String): EpochalException =
    Conditions.QueryChanged(
      "sinkId" -> row.sinkId,
      "known" -> row.queryId,
      "last" -> row.last.fold("none")(_.epoch.toString),
      "queryId" -> queryId,
      "accept" -> accept)
}
