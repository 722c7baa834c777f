package io.epochal.core.ledger

import java.util.HexFormat
import java.util.concurrent.ThreadLocalRandom

import io.epochal.core.error.{Condition, Conditions, EpochalException}

/** The positions of the task partitions at the end of an epoch: rows delivered, whether they were stored then or before.
  *
  * @param trigger
  *   under which the rows after it are stored
  * @param offsetsHash
  *   of the offsets that Spark logged for the epoch; None if they were not logged yet
  */
final case class Boundary(epoch: Long, trigger: TriggerMode, offsetsHash: Option[String], ends: Map[Int, Position]) {

  def rows: Long = ends.valuesIterator.map(_.rows).sum
}

/** The progress, in the ledger, of a query that stores rows in the middle of its epochs.
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

  /** The number of rows stored beyond a boundary. */
  def owed(boundary: Boundary): Long =
    boundary.ends.iterator.map { case (partition, end) => applied.get(partition).fold(0L)(_.rows - end.rows) }.sum

  /** The number of rows stored beyond the last boundary, for people: not negative if it was read while tasks store more. */
  def beyond: Option[Long] = boundaries.maxByOption(_.epoch).map(last => math.max(0L, owed(last)))

  /** The reason why the positions cannot be those of one query that resumed from the boundary. */
  private[ledger] def contradiction(boundary: Boundary): Option[String] = {
    val partitions = boundary.ends.keySet
    if (partitions != (0 until partitions.size).toSet || partitions != applied.keySet)
      Some(s"it has ends of ${partitions.size} partitions, and progress of ${applied.size}")
    else
      boundary.ends.toSeq.sortBy(_._1).collectFirst {
        case (partition, end) if applied(partition).rows < end.rows =>
          s"partition $partition had delivered ${end.rows} rows, but only ${applied(partition).rows} are stored"
        case (partition, end) if applied(partition).rows == end.rows && applied(partition) != end =>
          s"partition $partition has other rows than it had delivered"
      }
  }
}

object Progress {
  val Empty: Progress = Progress(Nil, Map.empty)
}

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

/** A job of a continuous or real-time query that is about to start.
  *
  * @param epoch
  *   its first epoch: the one after the last that Spark has committed
  * @param partitions
  *   its tasks
  * @param offsetsHash
  *   of the offsets in the checkpoint for the epoch before; None if there are none
  * @param regrouped
  *   whether the source divides the rows among its tasks in another way than before
  */
final case class ProgressStart(
    queryId: String,
    epoch: Long,
    trigger: TriggerMode,
    partitions: Int,
    generation: Long,
    runId: String,
    offsetsHash: Option[String],
    regrouped: Boolean = false) {
  private[ledger] def before: Long = epoch - 1
}

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
    val known = progress.boundary(start.before)
    EpochDecision.fence(start.generation, start.runId, row).flatMap { _ =>
      (row.last, known) match {
        case (None, Some(boundary)) => resume(start, row, progress, boundary)
        case (None, _) if start.epoch == 0 || onEmpty == OnLedgerEmpty.Write(start.epoch) => Right(anchor(start))
        case (None, _) => Left(Conditions.LedgerEmpty("epoch" -> start.epoch, "sinkId" -> row.sinkId))
        case (Some(last), _) =>
          EpochDecision
            .inOrder(row.sinkId, start.epoch, start.trigger, last)
            .flatMap(_ =>
              known match {
                case Some(boundary) => resume(start, row, progress, boundary)
                case None if start.epoch > last.epoch && last.trigger == TriggerMode.MicroBatch => Right(anchor(start))
                case None => Left(lost(start, row, s"it has no end of epoch ${start.before}"))
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
      _ <- progress.contradiction(boundary).map(lost(start, row, _)).toLeft(())
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

  private def lost(start: ProgressStart, row: LedgerRow, reason: String): EpochalException =
    Conditions.ProgressLost("sinkId" -> row.sinkId, "epoch" -> start.epoch, "reason" -> reason)
}

/** The position in a task partition's rows, counted from the start of its count.
  *
  * @param digest
  *   of the start of the count and all rows since then, in order
  */
final case class Position(rows: Long, digest: Long) {

  /** 16 hexadecimal digits. */
  def hex: String = HexFormat.of.toHexDigits(digest)
}

object Position {

  /** The start of a count. Its digest is random: positions of different counts never match, however few rows they have. */
  def newCount(): Position = Position(0L, ThreadLocalRandom.current.nextLong())

  def parse(rows: Long, hex: String): Position = Position(rows, java.lang.Long.parseUnsignedLong(hex, 16))

  /** The digest after one more row. Unlike the sum of [[ContentDigest]] it depends on the order of rows.
    *
    * Each step is a bijection in the digest and in the row's hash (Murmur3's 64-bit finalizer over a linear step): two swapped
    * rows, or a different row, go undetected with a probability of 1 in 2^64.
    */
  def digest(before: Long, hash: Long): Long = {
    val step = before * Multiplier + hash
    val first = (step ^ (step >>> 33)) * 0xff51afd7ed558ccdL
    val second = (first ^ (first >>> 33)) * 0xc4ceb9fe1a85ec53L
    second ^ (second >>> 33)
  }

  private val Multiplier = 0x9e3779b97f4a7c15L
}

/** Follows the rows of a task partition as they are delivered, and decides which are already stored.
  *
  * @param from
  *   the start of the epoch, which is the end of the one before
  * @param applied
  *   up to where the partition's rows are stored; never before `from`
  * @param diverged
  *   called if the rows delivered up to `applied` differ from the stored rows
  */
final class PartitionCursor(from: Position, applied: Position, diverged: Position => Nothing) {
  private var count = from.rows
  private var rolling = from.digest
  if (count == applied.rows && rolling != applied.digest) diverged(from)

  /** Advances past a row.
    *
    * @param hash
    *   of the row
    * @return
    *   whether to store it
    */
  def advance(hash: Long): Boolean = {
    count += 1
    rolling = Position.digest(rolling, hash)
    if (count == applied.rows && rolling != applied.digest) diverged(position)
    count > applied.rows
  }

  /** The position after the last row. */
  def position: Position = Position(count, rolling)
}
