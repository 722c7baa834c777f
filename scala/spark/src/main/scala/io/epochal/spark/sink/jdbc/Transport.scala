package io.epochal.spark.sink.jdbc

import java.sql.Connection
import java.util.zip.CRC32C

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.ContentDigest

/** How rows come from the tasks into the committing transaction. What a task puts out stays invisible until then (K6). */
sealed abstract class Transport(val name: String) extends Serializable {

  /** In a task: where it puts the rows of one attempt. */
  def open(format: RowFormat, epoch: String): TaskOutput

  /** In the driver: what the attempts named in the messages put out, checked as far as it can be without the database. */
  def receive(messages: Seq[TaskMessage], epoch: String): Either[EpochalException, Shipment]
}

object Transport {

  /** Rows travel in the commit messages, encoded by the tasks; the driver loads them.
    *
    * @param maxBytes
    *   of an epoch
    */
  final case class Inline(maxBytes: Long) extends Transport("inline") {

    override def open(format: RowFormat, epoch: String): TaskOutput =
      new InlineOutput(format, () => throw tooLarge(epoch))

    override def receive(messages: Seq[TaskMessage], epoch: String): Either[EpochalException, Shipment] = {
      val inline = messages.collect { case message: InlineMessage => message }.sortBy(_.partition)
      val chunks = inline.flatMap(m => m.chunks.toSeq.zip(m.lengths))
      val digest = inline.foldLeft(ContentDigest.empty)(_ + _.digest)
      val deadLetters = inline.flatMap(_.deadLetters)
      val rows = EncodedRows(digest.rows - deadLetters.size, chunks)
      if (inline.size < messages.size) Left(corrupted(epoch, "?", "nothing", "rows"))
      else if (rows.bytes > maxBytes) Left(tooLarge(epoch))
      else
        inline.find(!_.isWhole) match {
          case Some(bad) =>
            Left(corrupted(epoch, bad.partition, "other bytes", s"${bad.bytes} bytes with CRC32C ${bad.crc}"))
          case None => Right(new InlineShipment(digest, rows, deadLetters))
        }
    }

    private def tooLarge(epoch: String): EpochalException =
      Conditions.EpochTooLarge("epoch" -> epoch, "limit" -> maxBytes)

    private def corrupted(epoch: String, partition: Any, found: String, sent: String): EpochalException =
      Conditions.MessageCorrupted("epoch" -> epoch, "partition" -> partition, "found" -> found, "sent" -> sent)

    final private class InlineOutput(format: RowFormat, onLimit: () => Nothing) extends TaskOutput {
      private val out = new ChunkedBytes(maxBytes, onLimit)
      override val encoder: RowEncoder = format.encoder(out)
      override def bytes: Long = out.size
      override def mark(): Unit = out.mark()
      override def reset(): Unit = out.reset()

      override def finish(
          partition: Int,
          taskId: Long,
          digest: ContentDigest,
          deadLetters: Array[DeadLetter]): TaskMessage = {
        val (chunks, lengths) = out.result()
        new InlineMessage(
          partition,
          taskId,
          digest,
          deadLetters,
          lengths.map(_.toLong).sum,
          checksum(chunks, lengths),
          chunks,
          lengths)
      }
    }

    final private class InlineShipment(
        override val digest: ContentDigest,
        rows: EncodedRows,
        override val deadLetters: Seq[DeadLetter])
        extends Shipment {
      override def bytes: Long = rows.bytes
      override def load(connection: Connection, dialect: Dialect, table: BoundTable, batchSize: Int): Loaded =
        dialect.load(connection, table, rows, batchSize)
    }
  }

  private[jdbc] def checksum(chunks: Array[Array[Byte]], lengths: Array[Int]): Long = {
    val crc = new CRC32C
    chunks.indices.foreach(i => crc.update(chunks(i), 0, lengths(i)))
    crc.getValue
  }
}

/** Where a task puts its rows. */
trait TaskOutput {
  def encoder: RowEncoder
  def bytes: Long

  /** A row begins. */
  def mark(): Unit

  /** Takes back what was encoded of the row that has begun. */
  def reset(): Unit

  /** The task has no more rows.
    *
    * @param digest
    *   of all rows, those that could not be stored too
    */
  def finish(partition: Int, taskId: Long, digest: ContentDigest, deadLetters: Array[DeadLetter]): TaskMessage
}

/** What the driver has of an epoch. */
trait Shipment {

  /** Of all rows, those that could not be stored too. */
  def digest: ContentDigest
  def bytes: Long

  /** In the order of partitions and rows. */
  def deadLetters: Seq[DeadLetter]

  /** Rows that `load` brings. */
  final def rows: Long = digest.rows - deadLetters.size

  /** Puts its rows into the table; in the committing transaction, under the ledger's lock. */
  def load(connection: Connection, dialect: Dialect, table: BoundTable, batchSize: Int): Loaded
}

/** What a task tells the driver. Only attempts that are named in a message count. */
sealed trait TaskMessage extends WriterCommitMessage {
  def partition: Int

  /** Spark's number of the attempt; it starts at 0 again with every application. */
  def taskId: Long

  /** Of all rows, those that could not be stored too. */
  def digest: ContentDigest
  def deadLetters: Array[DeadLetter]
}

/** Rows in a message.
  *
  * @param lengths
  *   how much of each chunk counts
  */
final class InlineMessage(
    override val partition: Int,
    override val taskId: Long,
    override val digest: ContentDigest,
    override val deadLetters: Array[DeadLetter],
    val bytes: Long,
    val crc: Long,
    val chunks: Array[Array[Byte]],
    val lengths: Array[Int]
) extends TaskMessage {

  /** Whether it came as it was sent. */
  def isWhole: Boolean = lengths.map(_.toLong).sum == bytes && Transport.checksum(chunks, lengths) == crc
}
