package io.epochal.kit.source.journal

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.JournalPlan
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.{Extent, Supply}

/** A source whose rows the driver receives into an [[AcknowledgedJournal]], from `open` to `close`: delivers every row that was
  * acknowledged, and nothing else. A position is a row of the journal.
  */
abstract class AcknowledgedSource[P](factory: FeedRows, defaultPartitions: => Int)
    extends FedSource[P]
    with Supply[P]
    with FeedView {

  private val log: Logger = LoggerFactory.getLogger(getClass)
  private var swept = false
  private var freezes = false
  private var frozen = Option.empty[Long]
  @volatile private var end = Option.empty[Long]

  /** Fails before `open`. */
  protected def journal: AcknowledgedJournal

  protected def isOpen: Boolean

  /** The error that ended the receiver before `close`, for a reader that has reached a row. */
  protected def ended(row: Long): Option[EpochalException]

  /** Marks rows before `row` as delivered. */
  protected def deliveredUntil(row: Long): Unit

  protected def numPartitions: Option[Int]

  protected def row(position: P): Long

  protected def position(row: Long): P

  override def supply: Supply[P] = this

  override def readerFactory: PartitionReaderFactory = factory

  /** Begins with a journal that was taken over, and shows its rows to tasks in this JVM.
    *
    * @param committed
    *   start of the first batch
    * @param logged
    *   end of the last offset that Spark logged: new rows must not get the numbers of lost ones
    */
  final protected def begin(taken: AcknowledgedJournal, committed: P, logged: P): Unit = {
    taken.startFrom(row(committed))
    if (row(logged) > taken.until) {
      log.warn(factory.lost(taken.until, row(logged), "the journal in the checkpoint ends before them"))
      taken.skipTo(row(logged))
    }
    if (freezes) freeze(taken.until)
    LiveFeeds.add(factory.store, this)
  }

  /** Delivers no row from this one on. */
  final protected def freeze(row: Long): Unit = frozen = Some(row)

  /** Hides the rows from tasks. */
  final protected def hide(): Unit = LiveFeeds.remove(factory.store, this)

  override def available(start: P, most: Long): Long = {
    ended(row(start)).foreach(throw _)
    deliveredUntil(row(start))
    val until = frozen.getOrElse(journal.until)
    end = Some(until)
    math.max(0L, math.min(most, until - row(start)))
  }

  override def rowsWithin(start: P, bytes: Long): Long = journal.rowsWithin(row(start), bytes)

  override def take(start: P, rows: Long): P = position(row(start) + rows)

  override def partitions(start: P, end: P): Array[InputPartition] = {
    val plan = journal.plan(row(start), row(end))
    plan.gaps.foreach(gap => log.warn(factory.lost(gap.from, gap.until, gap.reason)))
    if (plan.slices.isEmpty) Array.empty
    else plan.split(numPartitions.getOrElse(defaultPartitions)).map(JournalPartition(_)).toArray
  }

  override def rowsBefore(position: P): Long = row(position)

  override def known: Option[Extent] = end.map(row => Extent(row, row))

  override def latest: Option[P] = end.map(position)

  override def freezeEnd(): Unit = freezes = true

  override def release(end: P): Unit = if (isOpen)
    try {
      deliveredUntil(row(end))
      if (!swept) {
        swept = true
        journal.sweep()
      }
      journal.release(row(end))
    } catch {
      // A later commit or run removes them.
      case NonFatal(e) => log.warn(s"Old segments of the journal could not be removed: $e")
    }

  override protected def feedRows: FeedRows = factory

  override protected def follow(start: P): Long = {
    available(start, 0): Unit
    row(start)
  }

  override protected def followedTo(row: Long): P = position(row)

  /** Synced rows for an endless task. */
  override def await(row: Long, millis: Long): Option[JournalPlan] = {
    if (journal.isFenced) throw Conditions.JournalFenced("source" -> factory.source, "path" -> factory.store)
    ended(row).foreach(throw _)
    Option.when(journal.await(row, math.min(millis, AcknowledgedSource.EndedCheck)))(
      journal.plan(row, math.min(journal.until, row + AcknowledgedSource.PlannedRows)))
  }

  override def lookAhead(end: P): Unit = Try(available(end, 0)): Unit
}

private object AcknowledgedSource {

  /** Milliseconds after which a waiting task checks whether the receiver has ended. */
  private val EndedCheck = 1000L

  /** Maximum rows per plan for an endless task. */
  private val PlannedRows = 100000L
}
