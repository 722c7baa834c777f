package io.epochal.kit.sink.transport

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.row.{ChunkedBytes, DeadLetter, EncodedRows, RowEncoder, RowFormat}

/** Transports rows from the tasks into the committing transaction. Rows of a task stay invisible until then. */
trait Transport extends Serializable {

  /** In a task: opens the output of one attempt. */
  def open(format: RowFormat, attempt: TaskAttempt): TaskOutput

  /** In the driver: the rows of the attempts named in the messages, checked as far as possible without the system. */
  def receive(messages: Seq[TaskMessage], epoch: String): Shipment = Shipment.of(messages, epoch)
}

/** One attempt of one task.
  *
  * @param epoch
  *   its number, or `BatchCommit.Epoch`
  * @param taskId
  *   Spark's number of the attempt; restarts at 0 with every application
  */
final case class TaskAttempt(epoch: String, partition: Int, taskId: Long)

/** The output of a task's rows. Holds encoded rows until they are sent, or the task's message takes them. Closed when the task
  * ends, finished or not.
  *
  * @param maxBytes
  *   `onLimit` is called if it would hold more
  */
abstract private[epochal] class TaskOutput(
    format: RowFormat,
    maxBytes: Long = Long.MaxValue,
    onLimit: () => Nothing = () => throw new IllegalStateException("no limit"))
    extends AutoCloseable {

  private val out = new ChunkedBytes(maxBytes, onLimit)
  private var before = 0L

  final val encoder: RowEncoder = format.encoder(out)

  /** Bytes encoded so far. */
  final def bytes: Long = before + out.size

  /** Begins a row. */
  final def mark(): Unit = out.mark()

  /** Discards the bytes of the current row. Held bytes begin with a whole row, so no part of it has been sent. */
  final def reset(): Unit = out.reset()

  /** Ends a row, complete or discarded: the output may send its bytes. */
  def rowEnded(): Unit

  /** Ends the task's rows. */
  def finish(report: TaskReport): TaskMessage

  /** The number of bytes held. */
  final protected def holds: Long = out.size

  /** Passes on the held bytes. */
  final protected def send(write: (Array[Byte], Int) => Unit): Unit = {
    before += out.size
    out.drain(write)
  }

  /** A message with the held bytes. */
  final protected def held(report: TaskReport): TaskMessage = {
    val (chunks, lengths) = out.result()
    new InlineMessage(report, lengths.map(_.toLong).sum, ChunkedBytes.checksum(chunks, lengths), chunks, lengths)
  }
}

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
    val ordered = messages.sortBy(_.attempt.partition)
    val here = ordered.collect {
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
      ordered.collect { case message: BulkMessage => message },
      ordered.flatMap(_.deadLetters),
      messages.map(_.report.encodeNanos).sum,
      chunks.collect { case file: RowFileChunks => file })
  }

  /** Concatenated parts, each read in turn. */
  final private class Chained(parts: Seq[Iterable[(Array[Byte], Int)]]) extends Iterable[(Array[Byte], Int)] {
    override def iterator: Iterator[(Array[Byte], Int)] = parts.iterator.flatMap(_.iterator)
  }
}

/** A task's totals after its last row, for any transport.
  *
  * @param digest
  *   of all rows, including bad ones: it recognises a replay
  * @param encodeNanos
  *   time spent encoding rows, estimated
  */
final case class TaskReport(
    attempt: TaskAttempt,
    digest: ContentDigest,
    deadLetters: Array[DeadLetter],
    encodeNanos: Long)

/** A task's message to the driver. Only attempts with a message count. */
sealed trait TaskMessage extends WriterCommitMessage {
  def report: TaskReport
  final def attempt: TaskAttempt = report.attempt
  final def digest: ContentDigest = report.digest
  final def deadLetters: Array[DeadLetter] = report.deadLetters

  /** Rows for the table. */
  final def stored: Long = digest.rows - deadLetters.length

  /** The size of its rows, as encoded. */
  def bytes: Long
}

/** Rows in a message.
  *
  * @param lengths
  *   the length in use of each chunk
  */
final class InlineMessage(
    override val report: TaskReport,
    override val bytes: Long,
    val crc: Long,
    val chunks: Array[Array[Byte]],
    val lengths: Array[Int]
) extends TaskMessage {

  /** Whether it arrived unchanged. */
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
  *   a staging table, or the id of a prepared transaction
  * @param token
  *   unique to this attempt, across all runs
  */
final case class BulkMessage(
    override val report: TaskReport,
    override val bytes: Long,
    place: String,
    token: String
) extends TaskMessage

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
      val written = file
      val crc = written.finish()
      file = null
      FileMessage(report, bytes, crc, written.name)
    }

  override def close(): Unit = if (file != null) file.cancel()
}
