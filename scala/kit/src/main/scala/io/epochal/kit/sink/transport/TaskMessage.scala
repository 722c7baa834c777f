package io.epochal.kit.sink.transport

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.row.{ChunkedBytes, DeadLetter}

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
