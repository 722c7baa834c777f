package io.epochal.testkit

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.connector.write.{DataWriter, WriterCommitMessage}

/** Runs one epoch against a sink as Spark's engine would, in one thread and without a session. */
final class Epoch(val number: Long, val write: StreamingWrite, partitions: Int) {

  private val factory = write.createStreamingWriterFactory(() => partitions)

  /** Runs a successful task attempt and returns its message to the driver. */
  def task(partition: Int, attempt: Long, rows: Seq[InternalRow]): WriterCommitMessage =
    runAttempt(partition, attempt, rows)(writer => Serialization.copy(writer.commit()))

  /** Runs a task attempt that dies after it has written its rows. */
  def deadTask(partition: Int, attempt: Long, rows: Seq[InternalRow]): Unit =
    runAttempt(partition, attempt, rows)(_.abort())

  private def runAttempt[A](partition: Int, attempt: Long, rows: Seq[InternalRow])(
      end: DataWriter[InternalRow] => A): A = {
    val writer = Serialization.copy(factory).createWriter(partition, attempt, number)
    try {
      rows.foreach(writer.write(_))
      end(writer)
    } catch {
      case NonFatal(e) =>
        writer.abort()
        throw e
    } finally writer.close()
  }

  def commit(messages: Seq[WriterCommitMessage]): Unit = write.commit(number, messages.toArray)

  def abort(messages: Seq[WriterCommitMessage]): Unit = write.abort(number, messages.toArray)
}
