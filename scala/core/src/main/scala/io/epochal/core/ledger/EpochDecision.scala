package io.epochal.core.ledger

import io.epochal.core.error.{Conditions, EpochalException}

/** What to do when an epoch comes again and its offsets cannot be read. */
sealed abstract class OnEpochMismatch(val name: String)

object OnEpochMismatch {
  case object Fail extends OnEpochMismatch("fail")
  case object Keep extends OnEpochMismatch("keep")

  val all: Seq[OnEpochMismatch] = Seq(Fail, Keep)
}

/** What to do when the ledger has no epoch of a query that is behind its first one. The answer is for one epoch: it says
  * nothing of the epoch at which a ledger may be lost again.
  */
sealed trait OnLedgerEmpty

object OnLedgerEmpty {
  case object Fail extends OnLedgerEmpty

  /** The epoch's rows are not in the table: it is written, and the ledger begins with it. */
  final case class Write(epoch: Long) extends OnLedgerEmpty

  /** The epoch's rows are in the table: the ledger begins with it, and nothing is written. */
  final case class Skip(epoch: Long) extends OnLedgerEmpty
}

/** An epoch that a run wants to commit.
  *
  * @param generation
  *   what the run's claim got
  * @param runId
  *   the run: a ledger that was set back can give the same generation again, but not to the same run
  * @param offsetsHash
  *   hash of the offsets that Spark's checkpoint holds for the epoch; None when they cannot be read
  */
final case class EpochAttempt(
    epoch: Long,
    generation: Long,
    runId: String,
    trigger: TriggerMode,
    offsetsHash: Option[String],
    digest: ContentDigest
) {
  def applied: AppliedEpoch = AppliedEpoch(epoch, trigger, offsetsHash, digest)
}

/** What becomes of an epoch (K3, K5). */
sealed trait EpochDecision

object EpochDecision {

  /** Its rows and `row` are to be committed in one transaction. */
  final case class Apply(row: LedgerRow) extends EpochDecision

  /** Its rows are there, as the user says: `row` alone is to be committed. */
  final case class Adopt(row: LedgerRow) extends EpochDecision

  /** It was applied before: nothing to do, and a success.
    *
    * @param contentDiffers
    *   the same offsets gave other rows this time: the plan is not repeatable, and the first application stands
    */
  final case class AlreadyApplied(contentDiffers: Boolean) extends EpochDecision

  /** @param row
    *   the sink's row, read under its lock
    */
  def decide(
      attempt: EpochAttempt,
      row: LedgerRow,
      onEmpty: OnLedgerEmpty,
      onMismatch: OnEpochMismatch
  ): Either[EpochalException, EpochDecision] =
    if (replaced(attempt, row)) Left(fenced(attempt, row))
    else
      row.last match {
        case None if onEmpty == OnLedgerEmpty.Skip(attempt.epoch) => Right(Adopt(applied(attempt, row)))
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

  /** After a connection was lost during COMMIT: whether that commit landed (K7).
    *
    * @param row
    *   the sink's row, read under its lock on a new connection, so that the lost one has ended
    */
  def landed(attempt: EpochAttempt, row: LedgerRow): Either[EpochalException, Boolean] =
    if (replaced(attempt, row)) Left(fenced(attempt, row))
    else Right(row.last.contains(attempt.applied))

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

  private def replaced(attempt: EpochAttempt, row: LedgerRow): Boolean =
    row.generation != attempt.generation || row.runId != attempt.runId

  private def fenced(attempt: EpochAttempt, row: LedgerRow): EpochalException =
    Conditions.SinkFenced("sinkId" -> row.sinkId, "generation" -> attempt.generation, "current" -> row.generation)
}
