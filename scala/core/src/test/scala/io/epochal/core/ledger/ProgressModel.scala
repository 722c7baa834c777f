package io.epochal.core.ledger

import io.epochal.core.error.EpochalException

/** A query, its engine and its ledger as values: a crash leaves the committed state. The source has any number of rows, the
  * same on every read.
  *
  * @param hash
  *   of a row, by partition and number
  */
final class ProgressModel(partitions: Int, trigger: TriggerMode, hash: (Int, Long) => Long) {

  /** Numbers of the rows in the table, by partition, in the order in which they were stored. */
  val table: Array[Vector[Long]] = Array.fill(partitions)(Vector.empty[Long])

  /** The state that Spark has committed: the next epoch, and the source's offsets there. */
  var epoch: Long = 0L
  var offsets: Vector[Long] = Vector.fill(partitions)(0L)

  private var generation = 0L
  var row: LedgerRow = LedgerRow("sink", "query", Target("t", None), None, 0L, "run 0", ServerIdentity("server", None))
  var progress: Progress = Progress.Empty

  private def hashed: String = offsets.mkString(",")

  /** Begins a run: the cursors of its tasks, and the source's positions. */
  def start(): ModelRun = {
    generation += 1
    row = row.copy(generation = generation, runId = s"run $generation")
    begin()
  }

  private def begin(): ModelRun = {
    val logged = Option.when(epoch > 0)(hashed)
    val start = ProgressStart("query", epoch, trigger, partitions, row.generation, row.runId, logged)
    val decision = StartDecision.decide(start, row, progress, OnLedgerEmpty.Fail).fold(throw _, identity)
    if (decision.newCounts) progress = Progress(Seq(decision.boundary), decision.boundary.ends)
    new ModelRun(decision.boundary.ends)
  }

  final class ModelRun(starts: Map[Int, Position]) {
    private var positions = starts
    private var next = offsets

    /** The task of a partition delivers rows, and may store the last of them.
      *
      * @param lost
      *   the number of new rows at the end that the task had not stored when it died
      */
    def deliver(partition: Int, rows: Int, lost: Int = 0): Unit = {
      val applied = progress.applied(partition)
      val cursor = new PartitionCursor(
        positions(partition),
        applied,
        found => throw new IllegalStateException(s"other rows: $found"))
      var fresh = Vector.empty[(Long, Position)]
      (0 until rows).foreach { _ =>
        val number = next(partition)
        next = next.updated(partition, number + 1)
        if (cursor.advance(hash(partition, number))) fresh :+= number -> cursor.position
      }
      val kept = fresh.dropRight(lost)
      table(partition) = table(partition) ++ kept.map(_._1)
      kept.lastOption.foreach { case (_, position) =>
        progress = progress.copy(applied = progress.applied.updated(partition, position))
      }
      positions = positions.updated(partition, cursor.position)
    }

    /** The sink's commit of an epoch after all of its tasks have ended. */
    def commitSink(): Unit = {
      val logged = Option.when(trigger == TriggerMode.Continuous)(next.mkString(","))
      val attempt =
        EpochAttempt("query", epoch, row.generation, row.runId, trigger, logged, ContentDigest.empty)
      val commit = ProgressCommit.decide(attempt, positions, row, progress).fold(throw _, identity)
      row = commit.row
      val kept = progress.boundaries.filter(b => b.epoch != epoch && b.epoch >= epoch - 2)
      progress = progress.copy(boundaries = kept :+ commit.boundary)
    }

    /** Spark's own commit, after the sink's. */
    def commitSpark(): Unit = {
      epoch += 1
      offsets = next
    }
  }
}

object ProgressModel {

  /** The condition with which a decision rejects. */
  def refusal[A](decision: Either[EpochalException, A]): String =
    decision.fold(_.condition.name, other => throw new AssertionError(s"not refused: $other"))
}
