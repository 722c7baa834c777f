package io.epochal.testkit

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.spark.SparkConf
import org.apache.spark.serializer.JavaSerializer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.connector.write.{DataWriter, WriterCommitMessage}
import org.apache.spark.sql.types.StructType

/** Reads a stream as Spark's engine would, in one thread and without a session. */
object MicroBatch {

  /** End of the next batch; None if there is nothing to read. */
  def next(stream: MicroBatchStream, start: Offset, limit: ReadLimit): Option[Offset] =
    Option(stream match {
      case limited: SupportsAdmissionControl => limited.latestOffset(start, limit)
      case plain                             => plain.latestOffset()
    }).filter(_.json != start.json)

  /** Values of all rows between two offsets, partition by partition. */
  def read(stream: MicroBatchStream, schema: StructType, start: Offset, end: Offset): Seq[Seq[Any]] = {
    // Spark may create the factory before it plans partitions, so the factory must not depend on the plan.
    val factory = stream.createReaderFactory()
    val partitions = stream.planInputPartitions(start, end).toSeq
    partitions.flatMap { partition =>
      Using.resource(factory.createReader(Serialization.copy(partition))) { reader =>
        Iterator.continually(reader).takeWhile(_.next()).map(_.get().copy().toSeq(schema)).toVector
      }
    }
  }
}

/** Runs one epoch against a sink as Spark's engine would, in one thread and without a session. */
final class Epoch(val number: Long, val write: StreamingWrite, partitions: Int) {

  private val factory = write.createStreamingWriterFactory(() => partitions)

  /** Runs a successful task attempt and returns its message to the driver. */
  def task(partition: Int, attempt: Long, rows: Seq[InternalRow]): WriterCommitMessage =
    written(partition, attempt, rows)(writer => Serialization.copy(writer.commit()))

  /** Runs a task attempt that dies after it has written its rows. */
  def deadTask(partition: Int, attempt: Long, rows: Seq[InternalRow]): Unit =
    written(partition, attempt, rows)(_.abort())

  private def written[A](
      partition: Int,
      attempt: Long,
      rows: Seq[InternalRow])(end: DataWriter[InternalRow] => A): A = {
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

/** Copies objects by Java serialization, as between driver and executors. */
object Serialization {

  /** The object as another JVM would deserialize it. */
  def copy[A](value: A): A = {
    val serializer = new JavaSerializer(new SparkConf(false)).newInstance()
    val loader = Thread.currentThread().getContextClassLoader
    serializer.deserialize[Any](serializer.serialize[Any](value), loader).asInstanceOf[A]
  }
}
