package io.epochal.testkit

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.connector.write.{PhysicalWriteInfo, WriterCommitMessage}

/** Runs one epoch against a sink as Spark's engine would, in one thread and without a session. */
final class Epoch(val number: Long, val write: StreamingWrite, partitions: Int) {

  private val factory: StreamingDataWriterFactory = write.createStreamingWriterFactory(new PhysicalWriteInfo {
    override def numPartitions(): Int = partitions
  })

  /** Runs a successful task attempt and returns its message to the driver. */
  def task(partition: Int, attempt: Long, rows: Seq[InternalRow]): WriterCommitMessage = {
    val writer = Serialization.copy(factory).createWriter(partition, attempt, number)
    try {
      rows.foreach(writer.write(_))
      Serialization.copy(writer.commit())
    } catch {
      case NonFatal(e) =>
        writer.abort()
        throw e
    } finally writer.close()
  }

  /** Runs a task attempt that dies after it has written its rows. */
  def deadTask(partition: Int, attempt: Long, rows: Seq[InternalRow]): Unit = {
    val writer = Serialization.copy(factory).createWriter(partition, attempt, number)
    rows.foreach(writer.write(_))
    writer.abort()
    writer.close()
  }

  def commit(messages: Seq[WriterCommitMessage]): Unit = write.commit(number, messages.toArray)

  def abort(messages: Seq[WriterCommitMessage]): Unit = write.abort(number, messages.toArray)
}
