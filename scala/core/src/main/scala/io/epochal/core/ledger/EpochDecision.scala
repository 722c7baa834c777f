package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** The policy for a replayed epoch whose offsets cannot be read. */
sealed abstract class OnEpochMismatch(val name: String)

object OnEpochMismatch {
  case object Fail extends OnEpochMismatch("fail")
  case object Keep extends OnEpochMismatch("keep")

  val all: Seq[OnEpochMismatch] = Seq(Fail, Keep)
}

/** The policy for a ledger that lacks an epoch although the query is past its first one. It applies to one epoch, not to a
  * later loss of the ledger.
  */
sealed trait OnLedgerEmpty

object OnLedgerEmpty {
  case object Fail extends OnLedgerEmpty

  /** The epoch's rows are not in the table: the epoch is written, and the ledger begins with it. */
  final case class Write(epoch: Long) extends OnLedgerEmpty

  /** The epoch's rows are in the table: the ledger begins with the epoch, and no rows are written. */
  final case class Skip(epoch: Long) extends OnLedgerEmpty
}

/** An epoch that a run wants to commit.
  *
  * @param queryId
  *   of the run's query
  * @param generation
  *   from the run's claim
  * @param runId
  *   the run: a ledger restored from a backup can assign the same generation again, but not to the same run
  * @param offsetsHash
  *   hash of the epoch's offsets in Spark's checkpoint; None if they cannot be read
  */
final case class EpochAttempt(
    queryId: String,
    epoch: Long,
    generation: Long,
    runId: String,
    trigger: TriggerMode,
    offsetsHash: Option[String],
    digest: ContentDigest
) {
  def applied: AppliedEpoch = AppliedEpoch(epoch, trigger, offsetsHash, digest)
}

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
    */
  def decide(
      attempt: EpochAttempt,
      row: LedgerRow,
      onEmpty: OnLedgerEmpty,
      onMismatch: OnEpochMismatch,
      replaces: Boolean
  ): Either[EpochalException, EpochDecision] =
    if (fences(attempt, row)) Left(fenced(attempt, row))
    else if (row.queryId != attempt.queryId) replace(attempt, row, replaces)
    else
      row.last match {
        case None if onEmpty == OnLedgerEmpty.Skip(attempt.epoch) => Right(Adopt(applied(attempt, row)))
        case None if replaces && attempt.epoch == 0               => Right(Replace(applied(attempt, row)))
        case None if attempt.epoch == 0 || onEmpty == OnLedgerEmpty.Write(attempt.epoch) =>
          Right(Apply(applied(attempt, row)))
        case None => Left(Conditions.LedgerEmpty("epoch" -> attempt.epoch, "sinkId" -> row.sinkId))
        case Some(last) if attempt.epoch == last.epoch + 1 => Right(Apply(applied(attempt, row)))
        case Some(last) if attempt.epoch == last.epoch     => replay(attempt, last, row, onMismatch)
        case Some(last) if attempt.epoch > last.epoch =>
          Left(
            Conditions.EpochGap(
              "epoch" -> attempt.epoch,
              "sinkId" -> row.sinkId,
              "last" -> last.epoch,
              "missing" -> (attempt.epoch - last.epoch - 1)
            )
          )
        case Some(last) =>
          Left(Conditions.EpochRegressed("epoch" -> attempt.epoch, "sinkId" -> row.sinkId, "last" -> last.epoch))
      }

  /** After a connection was lost during COMMIT: whether that commit landed.
    *
    * @param row
    *   the sink's row, read under its lock on a new connection, which proves that the lost one has ended
    */
  def landed(attempt: EpochAttempt, row: LedgerRow): Either[EpochalException, Boolean] =
    if (fences(attempt, row)) Left(fenced(attempt, row))
    else Right(row.queryId == attempt.queryId && row.last.contains(attempt.applied))

  /** The error for a query that would omit rows if it replaced another. */
  private[ledger] def incomplete(queryId: String, row: LedgerRow, reason: String): EpochalException =
    Conditions.ReplacementIncomplete(
      "queryId" -> queryId,
      "known" -> row.queryId,
      "sinkId" -> row.sinkId,
      "reason" -> reason)

  /** The claim left the row to the previous query. */
  private def replace(
      attempt: EpochAttempt,
      row: LedgerRow,
      replaces: Boolean): Either[EpochalException, EpochDecision] =
    if (!replaces)
      Left(
        Conditions.QueryChanged(
          "sinkId" -> row.sinkId,
          "known" -> row.queryId,
          "last" -> row.last.fold("none")(_.epoch.toString),
          "queryId" -> attempt.queryId,
          "accept" -> row.queryId
        ))
    else if (attempt.epoch > 0)
      Left(incomplete(attempt.queryId, row, s"it is at epoch ${attempt.epoch} already"))
    else Right(Replace(applied(attempt, row).copy(queryId = attempt.queryId)))

  private def applied(attempt: EpochAttempt, row: LedgerRow): LedgerRow = row.copy(last = Some(attempt.applied))

  private def replay(
      attempt: EpochAttempt,
      last: AppliedEpoch,
      row: LedgerRow,
      onMismatch: OnEpochMismatch
  ): Either[EpochalException, EpochDecision] = {
    val contentDiffers = attempt.digest != last.digest
    (last.offsetsHash, attempt.offsetsHash) match {
      case _ if last.trigger != attempt.trigger =>
        Left(
          Conditions.TriggerChanged(
            "epoch" -> attempt.epoch,
            "sinkId" -> row.sinkId,
            "known" -> last.trigger.name,
            "trigger" -> attempt.trigger.name
          )
        )
      case (Some(then), Some(now)) if then == now => Right(AlreadyApplied(contentDiffers))
      case (Some(then), Some(now)) =>
        Left(
          Conditions.EpochOffsetsChanged(
            "epoch" -> attempt.epoch,
            "sinkId" -> row.sinkId,
            "ledgerHash" -> then,
            "checkpointHash" -> now
          )
        )
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

  private[ledger] def fences(attempt: EpochAttempt, row: LedgerRow): Boolean =
    row.generation != attempt.generation || row.runId != attempt.runId

  private[ledger] def fenced(attempt: EpochAttempt, row: LedgerRow): EpochalException =
    Conditions.SinkFenced("sinkId" -> row.sinkId, "generation" -> attempt.generation, "current" -> row.generation)
}
