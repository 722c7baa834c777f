package io.epochal.jdbc.transport

import io.epochal.core.error.EpochalException
import io.epochal.jdbc.database.{FileMessage, Shipment, TaskAttempt, TaskMessage, TaskOutput, TaskReport, Transport}
import io.epochal.jdbc.row.{ChunkedBytes, RowEncoder, RowFormat}

/** For databases into which the driver alone writes: rows travel in the commit messages, and those of tasks that have more
  * in files, which the driver reads piece by piece within the one transaction. An epoch may have any size.
  *
  * @param maxInlineBytes
  *   of one task's rows in its message
  */
final private[jdbc] case class FileTransport(maxInlineBytes: Long, files: RowFiles) extends Transport {

  override def open(format: RowFormat, attempt: TaskAttempt): TaskOutput = new RowFileOutput(this, format, attempt)

  override def receive(messages: Seq[TaskMessage], epoch: String): Either[EpochalException, Shipment] =
    InlineTransport.receive(messages, epoch, files.chunks)
}

final private class RowFileOutput(transport: FileTransport, format: RowFormat, attempt: TaskAttempt)
    extends TaskOutput {
  import RowFileOutput._

  private val out = new ChunkedBytes(Long.MaxValue, () => throw new IllegalStateException("no limit"))
  override val encoder: RowEncoder = format.encoder(out)
  private var file = Option.empty[RowFile]
  private var sent = 0L

  // What may be held before it is written.
  private var limit = transport.maxInlineBytes

  override def bytes: Long = sent + out.size
  override def mark(): Unit = out.mark()
  override def reset(): Unit = out.reset()

  override def rowEnded(): Unit = if (out.size > limit) {
    if (file.isEmpty) {
      file = Some(transport.files.create(attempt))
      limit = HeldBytes
    }
    send()
  }

  private def send(): Unit = file.foreach { to =>
    sent += out.size
    out.drain(to.write)
  }

  override def finish(report: TaskReport): TaskMessage = file match {
    case None => InlineOutput.message(report, out)
    case Some(to) =>
      send()
      val crc = to.finish()
      file = None
      FileMessage(report, sent, crc, to.name)
  }

  override def close(): Unit = file.foreach(_.cancel())
}

private object RowFileOutput {
  val HeldBytes: Long = 1L << 20
}
