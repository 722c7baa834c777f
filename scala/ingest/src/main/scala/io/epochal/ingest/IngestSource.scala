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

/** The driver side of a stream: its journal and the listener that fills it, from start to stop. Delivers every record that was
  * acknowledged, and nothing else.
  *
  * When the driver stops or dies, so does the listener: clients are refused until the query runs again. Acknowledged records are in
  * the journal.
  */
final private[ingest] class IngestSource(
    options: IngestOptions,
    factory: IngestReaderFactory,
    val intake: JournalIntake,
    val listener: Listener,
    defaultPartitions: => Int
) extends FedSource[IngestPosition]
    with Supply[IngestPosition]
    with FeedView {
  import IngestSource._

  private val journal = intake.journal
  private var begun = false
  private var swept = false
  private var frozen = Option.empty[Long]

  @volatile private var end = Option.empty[Long]

  LiveFeeds.add(factory.store, this)

  override def name: String = s"${IngestOptions.Format}[${options.source}]"

  override def limit: ReadLimit = options.limit

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: IngestPosition = IngestPosition(0)

  override def toJson(position: IngestPosition): String = IngestOffset.toJson(options.source, position)

  override def fromJson(json: String): Either[EpochalException, IngestPosition] =
    IngestOffset.fromJson(options.source, json)

  override def supply: Supply[IngestPosition] = this

  override def readerFactory: PartitionReaderFactory = factory

  /** The listener's counts override the intake's: the listener refuses some requests before the intake sees them. */
  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    intake.metrics ++ listener.metrics ++ Map(
      "address" -> listener.address.getHostString,
      "port" -> listener.address.getPort.toString,
      "journalBytes" -> journal.bytes.toString,
      "backlogBytes" -> intake.backlogBytes.toString,
      "failing" -> intake.failure.fold("")(_.problem)
    ).filter(_._2.nonEmpty)

  override def available(start: IngestPosition, most: Long): Long = {
    ended.foreach(throw _)
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
    plan.gaps.foreach(gap => log.warn(options.lost(gap.from, gap.until, gap.reason)))
    if (plan.slices.isEmpty) Array.empty
    else plan.split(options.numPartitions.getOrElse(defaultPartitions)).map(JournalPartition(_)).toArray
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

  override def close(): Unit = {
    LiveFeeds.remove(factory.store, this)
    // An interrupted stop still stops everything.
    val interrupted = Thread.interrupted()
    try {
      // The query never requested a batch: waiting arrivals are not stored, and the listener need not wait for them.
      if (!intake.isOpen) intake.close()
      Try(listener.close()): Unit
      intake.close()
    } finally if (interrupted) Thread.currentThread.interrupt()
  }

  /** The error that ended the intake or the listener before `close`. */
  private def ended: Option[EpochalException] = intake.ended.orElse(listener.ended)

  /** Lets the intake store arrivals. Until then it must not: new rows could get the numbers of lost ones.
    *
    * @param committed
    *   first row of the first batch
    * @param logged
    *   end of the last offset that Spark logged
    */
  private def begin(committed: Long, logged: Long): Unit = if (!begun) {
    journal.startFrom(committed)
    if (logged > journal.until) {
      log.warn(options.lost(journal.until, logged, "the journal in the checkpoint ends before them"))
      journal.skipTo(logged)
    }
    begun = true
    intake.resume()
  }
}

private[ingest] object IngestSource {
  private val log = LoggerFactory.getLogger(classOf[IngestSource])

  /** Milliseconds after which a waiting task checks whether the intake or the listener has ended. */
  private val EndedCheck = 1000L

  /** Maximum rows per plan for an endless task. */
  private val PlannedRows = 100000L

  /** Takes the journal over and starts to listen. Arrivals are stored once the query requests its first batch.
    *
    * @throws EpochalException
    *   PORT_UNAVAILABLE, JOURNAL_UNWRITABLE, OFFSET_INVALID
    */
  def start(
      options: IngestOptions,
      rules: Option[RecordRules],
      reading: RecordReading,
      checkpoint: InitialOffset,
      defaultPartitions: => Int
  ): IngestSource = {
    val store = checkpoint.beside("ingest")
    val intake = openIntake(options, store)
    intake.hold()
    try {
      val listener = options.listen(intake)
      val factory = new IngestReaderFactory(options, rules, reading, store)
      new IngestSource(options, factory, intake, listener, defaultPartitions)
    } catch {
      case e: Throwable =>
        intake.close()
        throw e
    }
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
