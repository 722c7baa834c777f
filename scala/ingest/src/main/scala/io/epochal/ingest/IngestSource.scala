package io.epochal.ingest

import java.io.IOException
import java.net.InetSocketAddress
import java.time.Clock

import scala.util.Try

import org.apache.spark.sql.connector.read.PartitionReaderFactory

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.JournalDamage
import io.epochal.core.journal.acknowledged.{AcknowledgedJournal, JournalFenced}
import io.epochal.core.limit.ReadLimit
import io.epochal.ingest.http.HttpListener
import io.epochal.ingest.intake.{JournalIntake, Listener}
import io.epochal.ingest.tcp.{TcpListener, TcpReceiver}
import io.epochal.kit.record.{RecordReading, RecordRules}
import io.epochal.kit.source.journal.{FedSource, FeedRows, LiveFeeds}
import io.epochal.kit.source.{InitialOffset, Supply}
import io.epochal.kit.store.HadoopFileStore

/** The driver's part: the journal of a stream, and what fills it, from the stream's start to its stop.
  *
  * A driver that stops, or dies, takes its listener with it: clients are refused until the query runs again. What they were
  * acknowledged is in the journal.
  */
final private[ingest] class IngestSource(
    options: IngestOptions,
    factory: IngestReaderFactory,
    val intake: JournalIntake,
    val listener: Listener,
    defaultPartitions: => Int
) extends FedSource[IngestPosition] {
  private val journal = intake.journal
  private val tail = new IngestTail(journal, () => ended, factory.fenced)

  LiveFeeds.add(factory.store, tail)

  override def name: String = s"${IngestOptions.Format}[${options.source}]"

  override def limit: ReadLimit = options.limit

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: IngestPosition = IngestPosition(0)

  override def toJson(position: IngestPosition): String = IngestOffset.toJson(options.source, position)

  override def fromJson(json: String): Either[EpochalException, IngestPosition] =
    IngestOffset.fromJson(options.source, json)

  override val supply: Supply[IngestPosition] =
    new IngestSupply(options, intake, () => ended, options.numPartitions.getOrElse(defaultPartitions), () => stop())

  /** Why nothing is received any more, though nobody stopped it. */
  private def ended: Option[EpochalException] = intake.ended.orElse(listener.ended)

  override def readerFactory: PartitionReaderFactory = factory

  /** Of what both count, the listener knows more: it refuses some before the intake is asked. */
  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    intake.counters.metrics ++ listener.metrics ++ Map(
      "address" -> listener.address.getHostString,
      "port" -> listener.address.getPort.toString,
      "journalBytes" -> journal.bytes.toString,
      "backlogBytes" -> intake.backlogBytes.toString,
      "failing" -> intake.failure.fold("")(_.problem)
    ).filter(_._2.nonEmpty)

  override protected def follow(start: IngestPosition): Long = {
    supply.available(start, 0): Unit
    start.row
  }

  override protected def followedTo(row: Long): IngestPosition = IngestPosition(row)

  override protected def feedRows: FeedRows = factory

  override def lookAhead(end: IngestPosition): Unit = Try(supply.available(end, 0)): Unit

  private def stop(): Unit = {
    LiveFeeds.remove(factory.store, tail)
    // A stop that is interrupted is a stop all the same.
    val interrupted = Thread.interrupted()
    try {
      // Nobody asked for a batch: what waits is not stored any more, and the listener need not wait for it.
      if (!intake.isOpen) intake.close()
      Try(listener.close()): Unit
      intake.close()
    } finally if (interrupted) Thread.currentThread.interrupt()
  }
}

private[ingest] object IngestSource {

  /** Takes the journal over, and begins to listen. What comes is stored from the first batch on: see [[IngestSupply]].
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
      val listener = listen(options, intake)
      val factory = new IngestReaderFactory(options, rules, reading, store)
      new IngestSource(options, factory, intake, listener, defaultPartitions)
    } catch {
      case e: Throwable =>
        intake.close()
        throw e
    }
  }

  private def listen(options: IngestOptions, intake: JournalIntake): Listener = options.transport match {
    case IngestTransport.TcpListen(settings)  => new TcpListener(IngestOptions.Format, settings, intake)
    case IngestTransport.TcpConnect(settings) => new TcpReceiver(IngestOptions.Format, settings, intake)
    case IngestTransport.HttpListen(host, port, settings) =>
      new HttpListener(settings, new InetSocketAddress(host, port), intake, Clock.systemUTC(), () => gauges(intake))
  }

  /** What `/metrics` tells of the journal. */
  private def gauges(intake: JournalIntake): Seq[(String, String, Long)] = Seq(
    ("epochal_ingest_journal_bytes", "Bytes of the journal.", intake.journal.bytes),
    ("epochal_ingest_backlog_bytes", "Bytes of the journal that wait to be delivered.", intake.backlogBytes),
    (
      "epochal_ingest_journal_rows",
      "Rows that were put into the journal, those of earlier runs included.",
      intake.journal.until))

  private def openIntake(options: IngestOptions, store: HadoopFileStore): JournalIntake =
    try {
      val journal =
        AcknowledgedJournal.take(store, store.below("runs"), options.source, options.intake.segmentBytes)
      new JournalIntake(journal, options.intake, options.source, store.toString)
    } catch {
      case damage: JournalDamage =>
        throw Conditions.OffsetInvalid
          .because(damage)("format" -> IngestOptions.Format, "offset" -> store, "reason" -> damage.getMessage)
      case e @ (_: IOException | _: JournalFenced) => throw JournalIntake.named(e, options.source, store.toString)
    }
}
