package io.epochal.ingest

import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.ingest.intake.{IngestReceiver, JournalIntake, Listener}
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
) extends AcknowledgedSource[IngestPosition, IngestReceiver](
      IngestOffset,
      factory,
      options.numPartitions.getOrElse(defaultPartitions)) {

  override def limit: ReadLimit = options.limit

  override def needsEnd: Option[String] = factory.needsEnd.orElse(super.needsEnd)

  override def eventTimeColumn: Option[String] = options.eventTimeColumn

  override def first: IngestPosition = IngestPosition(0)

  override def isFirstConstant: Boolean = true

  /** Nobody else may have the port while a query hangs. */
  override def applicationEnded(): Unit = close()

  override protected def row(position: IngestPosition): Long = position.row

  override protected def position(row: Long): IngestPosition = IngestPosition(row)

  override protected def segmentBytes: Long = options.intake.segmentBytes

  override protected def newReceiver(start: IngestPosition, takeOver: () => AcknowledgedJournal): IngestReceiver = {
    val listener = options.listen()
    Listener.closing(listener) {
      val journal = takeOver()
      new IngestReceiver(listener, faults.naming(new JournalIntake(journal, options.intake, faults)))
    }
  }
}

private[ingest] object IngestSource {

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
