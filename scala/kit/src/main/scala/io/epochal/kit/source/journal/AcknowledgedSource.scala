package io.epochal.kit.source.journal

import scala.annotation.unused
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.JournalPlan
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.core.offset.OffsetFormat
import io.epochal.kit.source.{Extent, Supply}

/** A source with an [[AcknowledgedReceiver]], from `open` to `close`: delivers every row that was acknowledged, and nothing else. A
  * position is a row of the journal. Continuous and real-time queries run in local mode only.
  *
  * @param parts
  *   maximum number of partitions of a batch
  */
abstract class AcknowledgedSource[P, R <: AcknowledgedReceiver](
    offsets: OffsetFormat[P],
    factory: FeedRows,
    parts: => Int)
    extends FedSource[P]
    with Supply[P]
    with FeedView {

  /** Milliseconds after which a waiting task checks whether the receiver has ended. */
  final private val EndedCheck = 1000L

  /** Maximum rows per plan for an endless task. */
  final private val PlannedRows = 100000L

  private val log: Logger = LoggerFactory.getLogger(getClass)
  private var swept = false
  private var bounded = false
  private var frozenRow = Option.empty[Long]
  @volatile private var current = Option.empty[R]
  private var isClosed = false
  @volatile private var highestRow = Option.empty[Long]

  final protected val faults = new JournalFaults(offsets.format, factory.source, factory.store.toString)

  override def name: String = s"${offsets.format}[${factory.source}]"

  /** Creates the receiver.
    *
    * @param takeOver
    *   takes the journal over from the run before, which cannot receive any more from then on: called once, after all that may
    *   fail before
    */
  protected def newReceiver(start: P, takeOver: () => AcknowledgedJournal): R

  /** The size at which a segment of the journal is ended. */
  protected def segmentBytes: Long

  /** Fails before `open`. */
  final protected[epochal] def receiver: R = current.getOrElse(throw new IllegalStateException(s"$name is not open"))

  private def journal: AcknowledgedJournal = receiver.journal

  protected def row(position: P): Long

  protected def position(row: Long): P

  override def supply: Supply[P] = this

  override def readerFactory: PartitionReaderFactory = factory

  override def toJson(position: P): String = offsets.toJson(factory.source, position)

  override def fromJson(json: String): Either[EpochalException, P] = offsets.fromJson(factory.source, json)

  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    current.fold(Map.empty[String, String])(_.metrics)

  final override def open(start: P, logged: P): Unit = synchronized {
    if (isClosed) throw new InterruptedException(s"$name is closed")
    if (current.isEmpty) {
      val next = newReceiver(start, () => takeOver(start, logged))
      next.start()
      current = Some(next)
      LiveFeeds.add(factory.store, this)
    }
  }

  override def close(): Unit = synchronized {
    isClosed = true
    LiveFeeds.remove(factory.store, this)
    // An interrupted stop still stops everything.
    val wasInterrupted = Thread.interrupted()
    try current.foreach(_.close())
    finally if (wasInterrupted) Thread.currentThread.interrupt()
  }

  /** New rows must not get the numbers of lost ones, which an offset of Spark's log may have. */
  private def takeOver(start: P, logged: P): AcknowledgedJournal = {
    val journal =
      faults.naming(AcknowledgedJournal.take(factory.store, factory.store.below("runs"), factory.source, segmentBytes))
    journal.startFrom(row(start))
    if (row(logged) > journal.until) {
      log.warn(factory.lost(journal.until, row(logged), "the journal in the checkpoint ends before them"))
      journal.skipTo(row(logged))
    }
    if (bounded) end(journal)
    journal
  }

  /** Determines where a bounded run ends: with the rows that the journal has at the start. */
  protected def end(taken: AcknowledgedJournal): Unit = freeze(taken.until)

  /** The row after the last that a batch from a row on can end with. */
  protected def deliverableUntil(@unused start: Long): Long = journal.until

  /** Delivers no row from this one on. */
  final protected def freeze(row: Long): Unit = frozenRow = Some(row)

  override def available(start: P, most: Long): Long = {
    refuse(row(start))
    receiver.deliveredUntil(row(start))
    val until = frozenRow.getOrElse(deliverableUntil(row(start)))
    highestRow = Some(math.max(row(start), frozenRow.getOrElse(journal.until)))
    math.max(0L, math.min(most, until - row(start)))
  }

  override def rowsWithin(start: P, bytes: Long): Long = journal.rowsWithin(row(start), bytes)

  override def take(start: P, rows: Long): P = position(row(start) + rows)

  override def partitions(start: P, end: P): Array[InputPartition] = {
    val plan = journal.plan(row(start), row(end))
    plan.gaps.foreach(gap => log.warn(factory.lost(gap.from, gap.until, gap.reason)))
    plan.split(parts).map(JournalPartition(_)).toArray
  }

  override def rowsBefore(position: P): Long = row(position)

  override def known: Option[Extent] = highestRow.map(row => Extent(row, row))

  override def latest: Option[P] = highestRow.map(position)

  override def freezeEnd(): Unit = bounded = true

  override def release(end: P): Unit = if (current.nonEmpty)
    try {
      receiver.deliveredUntil(row(end))
      val sweeps = !swept
      swept = true
      if (sweeps) journal.sweep()
      journal.release(row(end))
    }
    // A later commit or run removes them.
    catch { case NonFatal(e) => log.warn(s"Old segments of the journal could not be removed: $e") }

  override protected def feedRows: FeedRows = factory

  /** A frame may be written and not acknowledged yet: only the driver's process shows which rows count. */
  override def needsEnd: Option[String] = SparkSession.getActiveSession
    .filterNot(_.sparkContext.isLocal)
    .map(_ => "its rows are visible in the driver's process as they arrive, and tasks of a cluster run in others")

  override protected def follow(start: P): Long = {
    available(start, 0): Unit
    row(start)
  }

  override protected def followedTo(row: Long): P = position(row)

  /** Synced rows for an endless task. */
  override def await(row: Long, millis: Long): Option[JournalPlan] = {
    refuse(row)
    Option.when(journal.await(row, math.min(millis, EndedCheck)))(
      journal.plan(row, math.min(journal.until, row + PlannedRows)))
  }

  /** Fails if a reader that has reached a row will receive no more. */
  private def refuse(row: Long): Unit = {
    if (journal.isFenced) throw Conditions.JournalFenced("source" -> factory.source, "path" -> factory.store)
    receiver.ended.filter(_ => row >= deliverableUntil(row)).foreach(throw _)
  }

  /** The rows before the end are not stored yet. */
  override def lookAhead(end: P): Unit = highestRow = Some(journal.until)
}
