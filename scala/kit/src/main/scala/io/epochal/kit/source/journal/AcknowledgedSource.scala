package io.epochal.kit.source.journal

import java.io.IOException

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.acknowledged.{AcknowledgedJournal, JournalFenced}
import io.epochal.core.journal.{JournalDamage, JournalPlan}
import io.epochal.kit.source.{Extent, Supply}

/** A source whose rows the driver receives into an [[AcknowledgedJournal]], from `open` to `close`: delivers every row that was
  * acknowledged, and nothing else. A position is a row of the journal. Continuous and real-time queries run in local mode only.
  */
abstract class AcknowledgedSource[P](format: String, factory: FeedRows, defaultPartitions: => Int)
    extends FedSource[P]
    with Supply[P]
    with FeedView {

  private val log: Logger = LoggerFactory.getLogger(getClass)
  private var swept = false
  private var bounded = false
  private var frozen = Option.empty[Long]
  @volatile private var reached = Option.empty[Long]

  final protected val faults = new JournalFaults(format, factory.source, factory.store.toString)

  override def name: String = s"$format[${factory.source}]"

  /** Fails before `open`. */
  protected def journal: AcknowledgedJournal

  protected def isOpen: Boolean

  /** The error that ended the receiver before `close`. Rows before it are delivered first. */
  protected def ended: Option[EpochalException]

  /** Marks rows before `row` as delivered. */
  protected def deliveredUntil(row: Long): Unit

  protected def numPartitions: Option[Int]

  protected def row(position: P): Long

  protected def position(row: Long): P

  override def supply: Supply[P] = this

  override def readerFactory: PartitionReaderFactory = factory

  /** Takes over the journal of the checkpoint.
    *
    * @throws io.epochal.core.error.EpochalException
    *   as in [[JournalFaults]]
    */
  final protected def takeOver(segmentBytes: Long): AcknowledgedJournal =
    faults.naming(AcknowledgedJournal.take(factory.store, factory.store.below("runs"), factory.source, segmentBytes))

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
    if (bounded) end(taken)
    LiveFeeds.add(factory.store, this)
  }

  /** Determines where a bounded run ends: with the rows that the journal has at the start. */
  protected def end(taken: AcknowledgedJournal): Unit = freeze(taken.until)

  /** Delivers no row from this one on. */
  final protected def freeze(row: Long): Unit = frozen = Some(row)

  /** Hides the rows from tasks. */
  final protected def hide(): Unit = LiveFeeds.remove(factory.store, this)

  override def available(start: P, most: Long): Long = {
    refuse(row(start))
    deliveredUntil(row(start))
    val until = frozen.getOrElse(journal.until)
    reached = Some(until)
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

  override def known: Option[Extent] = reached.map(row => Extent(row, row))

  override def latest: Option[P] = reached.map(position)

  override def freezeEnd(): Unit = bounded = true

  override def release(end: P): Unit = if (isOpen)
    try {
      deliveredUntil(row(end))
      val sweeps = !swept
      swept = true
      if (sweeps) journal.sweep()
      journal.release(row(end))
    }
    // A later commit or run removes them.
    catch { case NonFatal(e) => log.warn(s"Old segments of the journal could not be removed: $e") }

  override protected def feedRows: FeedRows = factory

  final override protected def isLogged: Boolean = false

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
    Option.when(journal.await(row, math.min(millis, AcknowledgedSource.EndedCheck)))(
      journal.plan(row, math.min(journal.until, row + AcknowledgedSource.PlannedRows)))
  }

  /** Fails if a reader that has reached a row will receive no more. */
  private def refuse(row: Long): Unit = {
    if (journal.isFenced) throw Conditions.JournalFenced("source" -> factory.source, "path" -> factory.store)
    ended.filter(_ => row >= journal.until).foreach(throw _)
  }

  override def lookAhead(end: P): Unit = Try(available(end, 0)): Unit
}

/** Our errors for those of an [[AcknowledgedJournal]]: JOURNAL_FENCED, JOURNAL_UNWRITABLE, SOURCE_CHANGED for that of
  * another source, and OFFSET_INVALID for a damaged one.
  *
  * @param source
  *   the identity that offsets carry
  * @param place
  *   the journal's directory
  */
final class JournalFaults(format: String, val source: String, place: String) {

  val named: PartialFunction[Throwable, EpochalException] = {
    case damage: JournalDamage if damage.owner.nonEmpty =>
      val owner = damage.owner.mkString
      Conditions.SourceChanged.because(damage)("found" -> owner, "expected" -> source, "sourceId" -> owner)
    case damage: JournalDamage =>
      Conditions.OffsetInvalid.because(damage)("format" -> format, "offset" -> place, "reason" -> damage.getMessage)
    case fenced: JournalFenced => Conditions.JournalFenced.because(fenced)("source" -> source, "path" -> place)
    case error: IOException    => unwritable(error)
  }

  def unwritable(error: Throwable): EpochalException = {
    val reason = Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
    Conditions.JournalUnwritable.because(error)("source" -> source, "path" -> place, "reason" -> reason)
  }

  /** @throws EpochalException
    *   for an error of the journal in `body`
    */
  def naming[A](body: => A): A =
    try body
    catch named.andThen(throw _)
}

private object AcknowledgedSource {

  /** Milliseconds after which a waiting task checks whether the receiver has ended. */
  private val EndedCheck = 1000L

  /** Maximum rows per plan for an endless task. */
  private val PlannedRows = 100000L
}
