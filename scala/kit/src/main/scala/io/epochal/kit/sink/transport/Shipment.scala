package io.epochal.kit.sink.transport

import io.epochal.core.error.Conditions
import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.row.{DeadLetter, EncodedRows}

/** The rows of an epoch on the driver.
  *
  * @param digest
  *   of all its rows
  * @param rows
  *   from the messages themselves, or from files
  * @param elsewhere
  *   rows that tasks have brought to the system
  * @param deadLetters
  *   in the order of partitions and rows
  * @param encodeNanos
  *   of all tasks together
  * @param files
  *   from which `rows` reads
  */
final case class Shipment(
    digest: ContentDigest,
    rows: EncodedRows,
    elsewhere: Seq[BulkMessage],
    deadLetters: Seq[DeadLetter],
    encodeNanos: Long,
    files: Seq[AutoCloseable] = Nil) {

  /** Closes files that a load has left open. They can be read again. */
  def release(): Unit = files.foreach(_.close())

  /** Rows for the table: all but the dead letters. */
  def stored: Long = digest.rows - deadLetters.size

  def bytes: Long = rows.bytes + elsewhere.map(_.bytes).sum

  /** For the progress: how rows travelled through the driver. */
  def driverWay: String = if (files.isEmpty) "inline" else "inline+files"
}

object Shipment {

  /** Combines the messages of an epoch; a message whose bytes changed on the way is an error.
    *
    * @param read
    *   the rows of a file
    */
  private[transport] def of(
      messages: Seq[TaskMessage],
      epoch: String,
      read: FileMessage => RowFileChunks = message => throw new IllegalStateException(s"no files: $message")
  ): Shipment = {
    val byPartition = messages.sortBy(_.attempt.partition)
    val here = byPartition.collect {
      case message: InlineMessage if !message.isWhole =>
        throw Conditions.CommitMessageCorrupted(
          "epoch" -> epoch,
          "partition" -> message.attempt.partition,
          "found" -> "other bytes",
          "sent" -> s"${message.bytes} bytes with CRC32C ${message.crc}")
      case message: InlineMessage => (message, message.chunks.toSeq.zip(message.lengths))
      case message: FileMessage   => (message, read(message))
    }
    val chunks = here.map(_._2: Iterable[(Array[Byte], Int)])
    Shipment(
      messages.foldLeft(ContentDigest.empty)(_ + _.digest),
      EncodedRows(here.map(_._1.stored).sum, here.map(_._1.bytes).sum, new Chained(chunks)),
      byPartition.collect { case message: BulkMessage => message },
      byPartition.flatMap(_.deadLetters),
      messages.map(_.report.encodeNanos).sum,
      chunks.collect { case file: RowFileChunks => file })
  }

  /** Concatenated parts, each read in turn. */
  final private class Chained(parts: Seq[Iterable[(Array[Byte], Int)]]) extends Iterable[(Array[Byte], Int)] {
    override def iterator: Iterator[(Array[Byte], Int)] = parts.iterator.flatMap(_.iterator)
  }
}
