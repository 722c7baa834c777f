package io.epochal.kit.sink.transport

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** Rows travel in the commit messages, encoded by the tasks; the driver loads them.
  *
  * @param maxBytes
  *   of an epoch
  */
final case class InlineTransport(maxBytes: Long) extends Transport {

  override def open(format: RowFormat, attempt: TaskAttempt): TaskOutput =
    new InlineOutput(format, maxBytes, () => throw tooLarge(attempt.epoch))

  override def receive(messages: Seq[TaskMessage], epoch: String): Either[EpochalException, Shipment] =
    InlineTransport.receive(messages, epoch).filterOrElse(_.bytes <= maxBytes, tooLarge(epoch))

  private def tooLarge(epoch: String): EpochalException =
    Conditions.EpochTooLarge("epoch" -> epoch, "limit" -> maxBytes)
}

object InlineTransport {

  /** Puts the messages together; what has not come as it was sent is an error. */
  private[epochal] def receive(
      messages: Seq[TaskMessage],
      epoch: String,
      read: FileMessage => RowFileChunks = message => throw new IllegalStateException(s"no files: $message")
  ): Either[EpochalException, Shipment] = {
    val inline = messages.collect { case message: InlineMessage => message }.sortBy(_.attempt.partition)
    val bulk = messages.collect { case message: BulkMessage => message }.sortBy(_.attempt.partition)
    inline.find(!_.isWhole) match {
      case Some(bad) =>
        Left(
          Conditions.CommitMessageCorrupted(
            "epoch" -> epoch,
            "partition" -> bad.attempt.partition,
            "found" -> "other bytes",
            "sent" -> s"${bad.bytes} bytes with CRC32C ${bad.crc}"))
      case None =>
        val ordered = messages.sortBy(_.attempt.partition)
        val here = ordered.collect {
          case message: InlineMessage => (message, message.chunks.toSeq.zip(message.lengths))
          case message: FileMessage   => (message, read(message))
        }
        val chunks = here.map(_._2: Iterable[(Array[Byte], Int)])
        val rows = EncodedRows(here.map(_._1.stored).sum, here.map(_._1.bytes).sum, new Chained(chunks))
        val deadLetters = ordered.flatMap(_.deadLetters)
        val digest = messages.foldLeft(ContentDigest.empty)(_ + _.digest)
        val files = chunks.collect { case file: RowFileChunks => file }
        Right(Shipment(digest, rows, bulk, deadLetters, messages.map(_.report.encodeNanos).sum, files))
    }
  }

  /** One after the other, each read when its turn comes. */
  final private class Chained(parts: Seq[Iterable[(Array[Byte], Int)]]) extends Iterable[(Array[Byte], Int)] {
    override def iterator: Iterator[(Array[Byte], Int)] = parts.iterator.flatMap(_.iterator)
  }
}

/** Keeps all rows of a task for its message. */
final private class InlineOutput(format: RowFormat, maxBytes: Long, onLimit: () => Nothing)
    extends BufferedOutput(format, maxBytes, onLimit) {
  override def rowEnded(): Unit = ()
  override def finish(report: TaskReport): TaskMessage = held(report)
  override def close(): Unit = ()
}
