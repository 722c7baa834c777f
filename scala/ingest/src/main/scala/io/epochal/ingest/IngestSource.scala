package io.epochal.ingest

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.ingest.intake.{JournalIntake, Listener}
import io.epochal.kit.record.{RecordReading, RecordRules}
import io.epochal.kit.source.InitialOffset
import io.epochal.kit.source.journal.AcknowledgedSource

/** The driver side of a stream: its journal and the listener that fills it, from `open` to `close`.
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
) extends AcknowledgedSource[IngestPosition](IngestOptions.Format, factory, defaultPartitions) {
  import IngestSource._

  @volatile private var opened = Option.empty[Opened]
  private var isClosed = false

  private[ingest] def intake: JournalIntake = running.intake
  private[ingest] def listener: Listener = running.listener

  private def running: Opened = opened.getOrElse(throw new IllegalStateException(s"$name is not open"))

  override def limit: ReadLimit = options.limit

  override def needsEnd: Option[String] = factory.needsEnd.orElse(super.needsEnd)

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: IngestPosition = IngestPosition(0)

  override def isFirstConstant: Boolean = true

  override def toJson(position: IngestPosition): String = IngestOffset.toJson(options.source, position)

  override def fromJson(json: String): Either[EpochalException, IngestPosition] =
    IngestOffset.fromJson(options.source, json)

  /** The listener's counts override the intake's: the listener refuses some requests before the intake sees them. */
  override def metrics(rowsBehind: Option[Long]): Map[String, String] =
    opened.fold(Map.empty[String, String]) { case Opened(intake, listener) =>
      intake.metrics ++ listener.metrics ++ Map(
        "address" -> listener.address.getHostString,
        "port" -> listener.address.getPort.toString,
        "run" -> intake.run,
        "journalBytes" -> intake.journal.bytes.toString,
        "backlogBytes" -> intake.backlogBytes.toString,
        "failing" -> intake.failure.fold("")(_.problem)
      ).filter(_._2.nonEmpty)
    }

  override def open(start: IngestPosition, loggedEnd: IngestPosition): Unit = synchronized {
    if (isClosed) throw new InterruptedException(s"$name is closed")
    if (opened.isEmpty) opened = Some(listening(start, loggedEnd))
  }

  /** Nobody else may have the port while a query hangs. */
  override def applicationEnded(): Unit = close()

  override protected def journal: AcknowledgedJournal = intake.journal

  override protected def isOpen: Boolean = opened.nonEmpty

  override protected def ended: Option[EpochalException] = intake.ended.orElse(listener.ended)

  override protected def deliveredUntil(row: Long): Unit = intake.deliveredUntil(row)

  override protected def numPartitions: Option[Int] = options.numPartitions

  override protected def row(position: IngestPosition): Long = position.row

  override protected def position(row: Long): IngestPosition = IngestPosition(row)

  override def close(): Unit = synchronized {
    isClosed = true
    hide()
    // An interrupted stop still stops everything.
    val wasInterrupted = Thread.interrupted()
    try
      opened.foreach { case Opened(intake, listener) =>
        try listener.close()
        finally intake.close()
      }
    finally if (wasInterrupted) Thread.currentThread.interrupt()
  }

  /** Listens, with the journal taken over. */
  private def listening(committedEnd: IngestPosition, loggedEnd: IngestPosition): Opened = {
    val listener = options.listen()
    Listener.closing(listener) {
      val journal = takeOver(options.intake.segmentBytes)
      val intake = faults.naming(new JournalIntake(journal, options.intake, faults))
      Listener.closing(intake) {
        begin(journal, committedEnd, loggedEnd)
        listener.serve(intake)
        Opened(intake, listener)
      }
    }
  }
}

private[ingest] object IngestSource {

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
}
