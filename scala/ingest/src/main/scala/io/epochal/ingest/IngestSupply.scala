package io.epochal.ingest

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.ingest.intake.JournalIntake
import io.epochal.kit.source.journal.JournalPartition
import io.epochal.kit.source.{Extent, Supply}

/** The rows of the journal. All that it acknowledged can be delivered, and nothing else.
  *
  * @param parts
  *   partitions of a batch at the most
  * @param ended
  *   why nothing can be received any more
  * @param stop
  *   ends what fills the journal
  */
final private class IngestSupply(
    options: IngestOptions,
    intake: JournalIntake,
    ended: () => Option[EpochalException],
    parts: => Int,
    stop: () => Unit)
    extends Supply[IngestPosition] {
  private val journal = intake.journal
  private var begun = false
  private var swept = false
  private var frozen = Option.empty[Long]

  @volatile private var end = Option.empty[Long]

  override def available(start: IngestPosition, most: Long): Long = {
    ended().foreach(throw _)
    begin(start.row, start.row)
    intake.deliveredUntil(start.row)
    val until = frozen.getOrElse(journal.until)
    end = Some(until)
    math.max(0L, math.min(most, until - start.row))
  }

  override def rowsWithin(start: IngestPosition, bytes: Long): Long = journal.rowsWithin(start.row, bytes)

  override def take(start: IngestPosition, rows: Long): IngestPosition = IngestPosition(start.row + rows)

  override def partitions(start: IngestPosition, end: IngestPosition): Array[InputPartition] = {
    begin(start.row, math.max(start.row, end.row))
    val plan = journal.plan(start.row, end.row)
    plan.gaps.foreach(gap => IngestSupply.log.warn(options.lost(gap.from, gap.until, gap.reason)))
    if (plan.slices.isEmpty) Array.empty else plan.split(parts).map(JournalPartition(_)).toArray
  }

  override def rowsBefore(position: IngestPosition): Long = position.row

  override def known: Option[Extent] = end.map(row => Extent(row, row))

  override def latest: Option[IngestPosition] = end.map(IngestPosition)

  override def freezeEnd(): Unit = frozen = Some(journal.until)

  override def release(end: IngestPosition): Unit =
    try {
      intake.deliveredUntil(end.row)
      if (!swept) {
        swept = true
        journal.sweep()
      }
      journal.release(end.row)
    } catch {
      // What could not be removed is removed by a later commit, or another run.
      case NonFatal(e) => IngestSupply.log.warn(s"Old segments of the journal could not be removed: $e")
    }

  override def close(): Unit = stop()

  /** Lets the intake store. Not before: rows that are gone may have had the numbers that the next ones would get.
    *
    * @param committed
    *   the row at which the first batch begins
    * @param logged
    *   the row that Spark's offsets have reached
    */
  private def begin(committed: Long, logged: Long): Unit = if (!begun) {
    journal.startFrom(committed)
    if (logged > journal.until) {
      val reason = "the journal in the checkpoint ends before them"
      IngestSupply.log.warn(options.lost(journal.until, logged, reason))
      journal.skipTo(logged)
    }
    begun = true
    intake.resume()
  }
}

private object IngestSupply {
  private val log = LoggerFactory.getLogger(classOf[IngestSupply])
}
