package io.epochal.kit.sink.transport

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.sink.row.RowFormat

/** Rows travel in the commit messages, encoded by the tasks; the driver loads them. If there is a place for files, a task with
  * more rows writes a file, which the driver reads in parts within the one transaction: an epoch may then have any size.
  *
  * @param maxBytes
  *   without files, of an epoch; else of one task's rows in its message
  */
final private[epochal] case class DriverTransport(maxBytes: Long, files: Option[RowFiles]) extends Transport {

  override def open(format: RowFormat, attempt: TaskAttempt): TaskOutput = new DriverOutput(this, format, attempt)

  override def receive(messages: Seq[TaskMessage], epoch: String): Shipment = files match {
    case Some(place) => Shipment.of(messages, epoch, place.chunks)
    case None =>
      val all = Shipment.of(messages, epoch)
      if (all.bytes > maxBytes) throw tooLarge(epoch)
      all
  }

  private[transport] def tooLarge(epoch: String): EpochalException =
    Conditions.EpochTooLarge("epoch" -> epoch, "limit" -> maxBytes)
}

private[epochal] object DriverTransport {

  /** Divides the bytes that may travel evenly among the tasks, so that no skew makes the total exceed the limit. */
  def shared(tasks: Int, limit: Long, files: Option[RowFiles]): DriverTransport =
    DriverTransport(if (files.isEmpty) limit else limit / math.max(tasks, 1), files)
}

final private class DriverOutput(transport: DriverTransport, format: RowFormat, attempt: TaskAttempt)
    extends TaskOutput(
      format,
      if (transport.files.isEmpty) transport.maxBytes else Long.MaxValue,
      () => throw transport.tooLarge(attempt.epoch)) {

  final private val HeldBytes = 1L << 20
  private var file: RowFile = _

  // The maximum of bytes held before they are written.
  private var limit = if (transport.files.isEmpty) Long.MaxValue else transport.maxBytes

  override def rowEnded(): Unit = if (holds > limit) {
    if (file == null) {
      file = transport.files.get.create(attempt)
      limit = HeldBytes
    }
    send(file.write)
  }

  override def finish(report: TaskReport): TaskMessage =
    if (file == null) held(report)
    else {
      send(file.write)
      val output = file
      val crc = output.finish()
      file = null
      FileMessage(report, bytes, crc, output.name)
    }

  override def close(): Unit = if (file != null) file.cancel()
}
