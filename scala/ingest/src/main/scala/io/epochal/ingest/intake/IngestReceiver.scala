package io.epochal.ingest.intake

import io.epochal.core.error.EpochalException
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.journal.AcknowledgedReceiver

/** A listener and the intake that stores what it receives. */
final private[ingest] class IngestReceiver(val listener: Listener, val intake: JournalIntake)
    extends AcknowledgedReceiver {

  override def journal: AcknowledgedJournal = intake.journal

  override def start(): Unit = Listener.closing(this)(listener.serve(intake))

  override def ended: Option[EpochalException] = intake.finalError.orElse(listener.finalError)

  override def deliveredUntil(row: Long): Unit = intake.deliveredUntil(row)

  /** The listener's counts override the intake's: the listener refuses some requests before the intake sees them. */
  override def metrics: Map[String, String] = intake.metrics ++ listener.metrics ++ Map(
    "address" -> listener.address.getHostString,
    "port" -> listener.address.getPort.toString,
    "run" -> intake.run,
    "journalBytes" -> journal.bytes.toString,
    "backlogBytes" -> intake.backlogBytes.toString,
    "failing" -> intake.failure.fold("")(_.problem)
  ).filter(_._2.nonEmpty)

  override def close(): Unit =
    try listener.close()
    finally intake.close()
}
