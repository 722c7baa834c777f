package io.epochal.rest.source.fan

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader

import io.epochal.kit.metric.TaskMetric

/** The rows of several readers, one after the other; each is opened when the one before is done.
  *
  * @param readers
  *   makes them
  */
final private[rest] class FanOutReader(readers: Iterator[PartitionReader[InternalRow]])
    extends PartitionReader[InternalRow] {

  private var current = Option.empty[PartitionReader[InternalRow]]
  private var done = Map.empty[String, Long]

  @scala.annotation.tailrec
  override def next(): Boolean = current match {
    case Some(reader) if reader.next() => true
    case _ =>
      close()
      if (!readers.hasNext) false
      else {
        current = Some(readers.next())
        next()
      }
  }

  override def get(): InternalRow = current.get.get()

  override def currentMetricsValues(): Array[CustomTaskMetric] =
    counted.map { case (name, value) => TaskMetric(name, value) }.toArray

  /** Closes the one that is open. */
  override def close(): Unit = {
    current.foreach(_.close())
    done = counted
    current = None
  }

  private def counted: Map[String, Long] = current.fold(done) { reader =>
    reader.currentMetricsValues().foldLeft(done) { (sums, metric) =>
      sums.updated(metric.name, sums.getOrElse(metric.name, 0L) + metric.value)
    }
  }
}
