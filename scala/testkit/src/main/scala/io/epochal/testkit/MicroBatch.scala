package io.epochal.testkit

import scala.util.Using

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit, SupportsAdmissionControl}
import org.apache.spark.sql.types.StructType

/** Reads a stream as Spark's engine would, in one thread and without a session. */
object MicroBatch {

  /** End of the next batch; None if there is nothing to read. */
  def next(stream: MicroBatchStream, start: Offset, limit: ReadLimit): Option[Offset] =
    Option(stream match {
      case stream: SupportsAdmissionControl => stream.latestOffset(start, limit)
      case plain                            => plain.latestOffset()
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
