package io.epochal.kit.sink.transport

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.row.{ChunkedBytes, DeadLetter, EncodedRows, RowEncoder, RowFormat}

/** How rows come from the tasks into the committing transaction. What a task puts out stays invisible until then (K6). */
trait Transport extends Serializable {

  /** In a task: where it puts the rows of one attempt. */
  def open(format: RowFormat, attempt: TaskAttempt): TaskOutput

  /** In the driver: what the attempts named in the messages put out, checked as far as it can be without the system. */
  def receive(messages: Seq[TaskMessage], epoch: String): Either[EpochalException, Shipment] =
    Shipment.of(messages, epoch)
}

/** One attempt of one task.
  *
  * @param epoch
  *   its number, or `BatchCommit.Epoch`
  * @param taskId
  *   Spark's number of the attempt; it starts at 0 again with every application
  */
final case class TaskAttempt(epoch: String, partition: Int, taskId: Long)

/** Where a task puts its rows. Closed when the task ends, whether it has finished or not. */
trait TaskOutput extends AutoCloseable {
  def encoder: RowEncoder

  /** Bytes encoded so far. */
  def bytes: Long

  /** A row begins. */
  def mark(): Unit

  /** Takes back what was encoded of the row that has begun. */
  def reset(): Unit

  /** A row is complete, or taken back: the output may send on what it holds. */
  def rowEnded(): Unit

  /** The task has no more rows. */
  def finish(report: TaskReport): TaskMessage
}

/** What the driver has of an epoch.
  *
  * @param digest
  *   of all its rows
  * @param rows
  *   that came in the messages themselves, or in files
  * @param elsewhere
  *   that lie in the system
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

  /** For the progress: how rows came through the driver. */
  def driverWay: String = if (files.isEmpty) "inline" else "inline+files"
}

object Shipment {

  /** Puts the messages of an epoch together; a message that arrived with other bytes is an error.
    *
    * @param read
    *   the rows of a file
    */
  private[transport] def of(
      messages: Seq[TaskMessage],
      epoch: String,
      read: FileMessage => RowFileChunks = message => throw new IllegalStateException(s"no files: $message")
  ): Either[EpochalException, Shipment] = {
    val ordered = messages.sortBy(_.attempt.partition)
    ordered.collectFirst { case message: InlineMessage if !message.isWhole => message } match {
      case Some(bad) =>
        Left(
          Conditions.CommitMessageCorrupted(
            "epoch" -> epoch,
            "partition" -> bad.attempt.partition,
            "found" -> "other bytes",
            "sent" -> s"${bad.bytes} bytes with CRC32C ${bad.crc}"))
      case None =>
        val here = ordered.collect {
          case message: InlineMessage => (message, message.chunks.toSeq.zip(message.lengths))
          case message: FileMessage   => (message, read(message))
        }
        val chunks = here.map(_._2: Iterable[(Array[Byte], Int)])
        Right(
          Shipment(
            messages.foldLeft(ContentDigest.empty)(_ + _.digest),
            EncodedRows(here.map(_._1.stored).sum, here.map(_._1.bytes).sum, new Chained(chunks)),
            ordered.collect { case message: BulkMessage => message },
            ordered.flatMap(_.deadLetters),
            messages.map(_.report.encodeNanos).sum,
            chunks.collect { case file: RowFileChunks =>
              file
            }
          ))
    }
  }

  /** One after the other, each read when its turn comes. */
  final private class Chained(parts: Seq[Iterable[(Array[Byte], Int)]]) extends Iterable[(Array[Byte], Int)] {
    override def iterator: Iterator[(Array[Byte], Int)] = parts.iterator.flatMap(_.iterator)
  }
}

/** What a task knows when it has no more rows, whatever way they go.
  *
  * @param digest
  *   of all rows, those that cannot be stored too: by it an epoch is known again
  * @param encodeNanos
  *   spent encoding rows, estimated
  */
final case class TaskReport(
    attempt: TaskAttempt,
    digest: ContentDigest,
    deadLetters: Array[DeadLetter],
    encodeNanos: Long)

/** What a task tells the driver. Only attempts that are named in a message count. */
sealed trait TaskMessage extends WriterCommitMessage {
  def report: TaskReport
  final def attempt: TaskAttempt = report.attempt
  final def digest: ContentDigest = report.digest
  final def deadLetters: Array[DeadLetter] = report.deadLetters

  /** Rows for the table. */
  final def stored: Long = digest.rows - deadLetters.length

  /** Of its rows, as encoded. */
  def bytes: Long
}

/** Rows in a message.
  *
  * @param lengths
  *   how much of each chunk counts
  */
final class InlineMessage(
    override val report: TaskReport,
    override val bytes: Long,
    val crc: Long,
    val chunks: Array[Array[Byte]],
    val lengths: Array[Int]
) extends TaskMessage {

  /** Whether it came as it was sent. */
  def isWhole: Boolean = lengths.map(_.toLong).sum == bytes && ChunkedBytes.checksum(chunks, lengths) == crc
}

/** Rows in a file of [[RowFiles]].
  *
  * @param crc
  *   CRC32C of the rows' bytes
  */
final case class FileMessage(
    override val report: TaskReport,
    override val bytes: Long,
    crc: Long,
    file: String
) extends TaskMessage

/** Rows that a task has brought to the system itself.
  *
  * @param place
  *   where they are: a staging table, or the id of a prepared transaction
  * @param token
  *   of this attempt alone: no other has it, not even of another run
  */
final case class BulkMessage(
    override val report: TaskReport,
    override val bytes: Long,
    place: String,
    token: String
) extends TaskMessage
