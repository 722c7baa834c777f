package io.epochal.ingest

import java.io.IOException

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.acknowledged.{AcknowledgedJournal, JournalFenced}
import io.epochal.core.journal.{JournalDamage, JournalPlan}
import io.epochal.ingest.intake.{JournalIntake, Listener}
import io.epochal.kit.record.{RecordReading, RecordRules}
import io.epochal.kit.source.journal.{FedSource, FeedRows, FeedView, JournalPartition, LiveFeeds}
import io.epochal.kit.source.{Extent, InitialOffset, Supply}
import io.epochal.kit.store.HadoopFileStore

/** The driver side of a stream: its journal and the listener that fills it, from `open` to `close`. Delivers every record that was
  * acknowledged, and nothing else.
  *
  * `open` first binds the port and then takes the journal over: a run that cannot listen leaves an earlier one alone.
  *
  * When the driver stops or dies, so does the listener: clients are refused until the query runs again. Acknowledged records are in
  * the journal.
  */
final private[ingest] class IngestSource(
    options: IngestOptions,
    factory: IngestReaderFactory,
    defaultPartitions: => Int
) extends FedSource[IngestPosition]
    with Supply[IngestPosition]
    with FeedView {
  import IngestSource._

  @volatile private var opened = Option.empty[Opened]
  private var isClosed = false
  private var swept = false
  private var freezes = false
  private var frozen = Option.empty[Long]

  @volatile private var end = Option.empty[Long]

  private[ingest] def intake: JournalIntake = running.intake
  private[ingest] def listener: Listener = running.listener
  private def journal = intake.journal

  private def running: Opened = opened.getOrElse(throw new IllegalStateException(s"$name is not open"))

  override def name: String = s"${IngestOptions.Format}[${options.source}]"

  override def limit: ReadLimit = options.limit

  override def needsEnd: Option[String] = factory.needsEnd

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: IngestPosition = IngestPosition(0)

  override def isFirstConstant: Boolean = true

  override def toJson(position: IngestPosition): String = IngestOffset.toJson(options.source, position)

  override def fromJson(json: String): Either[EpochalException, IngestPosition] =
    IngestOffset.fromJson(options.source, json)

  override def supply: Supply[IngestPosition] = this

  override def readerFactory: PartitionReaderFactory = factory

  /** The listener's counts override the intake's: the listener refuses some requests before the intake sees them. */
  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    opened.fold(Map.empty[String, String]) { case Opened(intake, listener) =>
      intake.metrics ++ listener.metrics ++ Map(
        "address" -> listener.address.getHostString,
        "port" -> listener.address.getPort.toString,
        "journalBytes" -> intake.journal.bytes.toString,
        "backlogBytes" -> intake.backlogBytes.toString,
        "failing" -> intake.failure.fold("")(_.problem)
      ).filter(_._2.nonEmpty)
    }

  override def open(start: IngestPosition, logged: IngestPosition): Unit = synchronized {
    if (isClosed) throw new InterruptedException(s"$name is closed")
    if (opened.isEmpty) opened = Some(listening(start.row, logged.row))
  }

  /** Nobody else may have the port while a query hangs. */
  override def applicationEnded(): Unit = close()

  override def available(start: IngestPosition, most: Long): Long = {
    ended.foreach(throw _)
    intake.deliveredUntil(start.row)
    val until = frozen.getOrElse(journal.until)
    end = Some(until)
    math.max(0L, math.min(most, until - start.row))
  }

  override def rowsWithin(start: IngestPosition, bytes: Long): Long = journal.rowsWithin(start.row, bytes)

  override def take(start: IngestPosition, rows: Long): IngestPosition = IngestPosition(start.row + rows)

  override def partitions(start: IngestPosition, end: IngestPosition): Array[InputPartition] = {
    val plan = journal.plan(start.row, end.row)
    plan.gaps.foreach(gap => log.warn(options.lost(gap.from, gap.until, gap.reason)))
    if (plan.slices.isEmpty) Array.empty
    else plan.split(options.numPartitions.getOrElse(defaultPartitions)).map(JournalPartition(_)).toArray
  }

  override def rowsBefore(position: IngestPosition): Long = position.row

  override def known: Option[Extent] = end.map(row => Extent(row, row))

  override def latest: Option[IngestPosition] = end.map(IngestPosition)

  override def freezeEnd(): Unit = freezes = true

  override def release(end: IngestPosition): Unit = if (opened.nonEmpty)
    try {
      intake.deliveredUntil(end.row)
      if (!swept) {
        swept = true
        journal.sweep()
      }
      journal.release(end.row)
    } catch {
      // A later commit or run removes them.
      case NonFatal(e) => log.warn(s"Old segments of the journal could not be removed: $e")
    }

  override protected def feedRows: FeedRows = factory

  override protected def follow(start: IngestPosition): Long = {
    available(start, 0): Unit
    start.row
  }

  override protected def followedTo(row: Long): IngestPosition = IngestPosition(row)

  /** Synced rows for an endless task. */
  override def await(row: Long, millis: Long): Option[JournalPlan] = {
    if (journal.isFenced) throw Conditions.JournalFenced("source" -> options.source, "path" -> factory.store)
    ended.foreach(throw _)
    Option.when(journal.await(row, math.min(millis, EndedCheck)))(
      journal.plan(row, math.min(journal.until, row + PlannedRows)))
  }

  override def lookAhead(end: IngestPosition): Unit = Try(available(end, 0)): Unit

  override def close(): Unit = synchronized {
    isClosed = true
    LiveFeeds.remove(factory.store, this)
    // An interrupted stop still stops everything.
    val interrupted = Thread.interrupted()
    try
      opened.foreach { case Opened(intake, listener) =>
        try listener.close()
        finally intake.close()
      }
    finally if (interrupted) Thread.currentThread.interrupt()
  }

  /** The error that ended the intake or the listener before `close`. */
  private def ended: Option[EpochalException] = intake.ended.orElse(listener.ended)

  /** Listens, with the journal taken over.
    *
    * @param committed
    *   first row of the first batch
    * @param logged
    *   end of the last offset that Spark logged: new rows must not get the numbers of lost ones
    */
  private def listening(committed: Long, logged: Long): Opened = {
    val listener = options.listen()
    unless(listener) {
      val intake = openIntake(options, factory.store)
      unless(intake) {
        val journal = intake.journal
        journal.startFrom(committed)
        if (logged > journal.until) {
          log.warn(options.lost(journal.until, logged, "the journal in the checkpoint ends before them"))
          journal.skipTo(logged)
        }
        if (freezes) frozen = Some(journal.until)
        LiveFeeds.add(factory.store, this)
        listener.serve(intake)
        Opened(intake, listener)
      }
    }
  }

  /** Closes a resource if the body fails. */
  private def unless[A](resource: AutoCloseable)(body: => A): A =
    try body
    catch {
      case e: Throwable =>
        Try(resource.close()): Unit
        throw e
    }
}

private[ingest] object IngestSource {
  private val log = LoggerFactory.getLogger(classOf[IngestSource])

  /** Milliseconds after which a waiting task checks whether the intake or the listener has ended. */
  private val EndedCheck = 1000L

  /** Maximum rows per plan for an endless task. */
  private val PlannedRows = 100000L

  final private case class Opened(intake: JournalIntake, listener: Listener)

  def of(
      options: IngestOptions,
      rules: Option[RecordRules],
      reading: RecordReading,
      checkpoint: InitialOffset,
      defaultPartitions: => Int): IngestSource = {
    val factory = new IngestReaderFactory(options, rules, reading, checkpoint.beside("ingest"))
    new IngestSource(options, factory, defaultPartitions)
  }

  private def openIntake(options: IngestOptions, store: HadoopFileStore): JournalIntake =
    try {
      val journal = AcknowledgedJournal.take(store, store.below("runs"), options.source, options.intake.segmentBytes)
      new JournalIntake(journal, options.intake, options.source, store.toString)
    } catch {
      case damage: JournalDamage =>
        throw Conditions.OffsetInvalid
          .because(damage)("format" -> IngestOptions.Format, "offset" -> store, "reason" -> damage.getMessage)
      case e @ (_: IOException | _: JournalFenced) => throw JournalIntake.condition(e, options.source, store.toString)
    }
}
