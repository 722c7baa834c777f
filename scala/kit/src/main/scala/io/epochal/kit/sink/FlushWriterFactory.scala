package io.epochal.kit.sink

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.apache.spark.sql.connector.write.{DataWriter, WriterCommitMessage}
import org.apache.spark.sql.types.StructType

import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.{ContentDigest, PartitionCursor, Position}
import io.epochal.kit.sink.flush.{FlushMessage, FlushSettings, Flusher, RowFlush}
import io.epochal.kit.sink.row.{BadRows, BadValue, RowFormat}
import io.epochal.kit.spark.memory.BinaryRow

/** Serialized to the tasks of a continuous or real-time query.
  *
  * Each task has its own copy, and a continuous task keeps it for all of its epochs: each epoch begins where the previous one
  * ended.
  *
  * @param starts
  *   where the first epoch begins, by partition
  */
final private[sink] class FlushWriterFactory(
    flush: RowFlush,
    format: RowFormat,
    schema: StructType,
    badRows: BadRows,
    settings: FlushSettings,
    starts: Array[Position])
    extends StreamingDataWriterFactory {

  @transient private lazy val ends = mutable.Map.empty[Int, Ended]

  override def createWriter(partition: Int, taskId: Long, epoch: Long): DataWriter[InternalRow] = {
    val (from, applied) = ends.synchronized(ends.remove(partition)) match {
      case Some(Ended(end, storedEnd)) => (end, storedEnd)
      case None                        => (starts(partition), flush.applied(partition))
    }
    if (applied.rows < from.rows) flush.lost(partition, epoch, from, applied)
    new FlushWriter(partition, epoch, from, applied)
  }

  /** One task attempt in one epoch: skips rows that are already stored, and stores the others as they arrive. */
  final private class FlushWriter(partition: Int, epoch: Long, from: Position, applied: Position)
      extends DataWriter[InternalRow] {

    private val cursor = new PartitionCursor(from, applied, end => flush.diverged(partition, applied, end))
    private val flusher = new Flusher(partition, epoch, flush, format, settings, applied)
    private val binary = BinaryRow.converter(schema)
    private val metrics = new TaskMetrics
    private lazy val bad = badRows.ofTask(partition, epoch.toString)
    private var rows = 0L
    private var sum = 0L

    override def write(record: InternalRow): Unit = {
      val row = binary(record)
      val hash = row.hash
      rows += 1
      sum += hash
      if (cursor.advance(hash))
        try flusher.write(row, cursor.position)
        catch { case value: BadValue => bad.add(rows, row, value) }
    }

    override def commit(): WriterCommitMessage = {
      Failpoints.reach(Failpoint.BeforeTaskCommit)
      val storedEnd = flusher.finish()
      val (end, digest) = (cursor.position, ContentDigest(rows, sum))
      val message = FlushMessage(partition, end, digest, flusher.rows, flusher.bytes, flusher.flushes)
      ends.synchronized(ends.update(partition, Ended(end, storedEnd)))
      Failpoints.reach(Failpoint.AfterTaskCommit)
      message
    }

    override def currentMetricsValues(): Array[CustomTaskMetric] = metrics.values(rows, flusher.bytes)
    override def abort(): Unit = ()
    override def close(): Unit = flusher.close()
  }
}

/** The end of a partition's epoch.
  *
  * @param stored
  *   beyond `end` if rows are owed that were stored before
  */
final private[sink] case class Ended(end: Position, stored: Position)
