package io.epochal.kit.sink

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.apache.spark.sql.connector.write.{DataWriter, DataWriterFactory, WriterCommitMessage}
import org.apache.spark.sql.types.StructType

import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.core.ledger.ContentDigest
import io.epochal.kit.sink.row.{BadRows, BadValue, RowFormat}
import io.epochal.kit.sink.transport.{TaskAttempt, TaskReport, Transport}
import io.epochal.kit.spark.memory.BinaryRow

/** Serialized to the tasks.
  *
  * @param badRows
  *   the policy for rows that cannot be stored
  */
final private[epochal] class SinkWriterFactory(
    transport: Transport,
    format: RowFormat,
    schema: StructType,
    badRows: BadRows)
    extends StreamingDataWriterFactory
    with DataWriterFactory {

  override def createWriter(partition: Int, taskId: Long, epoch: Long): DataWriter[InternalRow] =
    writer(partition, taskId, epoch.toString)

  override def createWriter(partition: Int, taskId: Long): DataWriter[InternalRow] =
    writer(partition, taskId, BatchCommit.Epoch)

  private def writer(partition: Int, taskId: Long, epoch: String): DataWriter[InternalRow] =
    new SinkWriter(TaskAttempt(epoch, partition, taskId))

  /** One task attempt: encodes rows and sums their hashes. Allocates nothing per row. */
  final private class SinkWriter(attempt: TaskAttempt) extends DataWriter[InternalRow] {
    private val output = transport.open(format, attempt)
    private val bad = badRows.ofTask(attempt.partition, attempt.epoch)
    private val unsafe = BinaryRow.converter(schema)
    private val encoder = output.encoder
    private val metrics = new TaskMetrics
    private var rows = 0L
    private var sum = 0L

    override def write(record: InternalRow): Unit = {
      val row = unsafe(record)
      if (!metrics.isSampled(rows)) encode(row)
      else {
        val start = System.nanoTime()
        encode(row)
        metrics.sample(System.nanoTime() - start)
      }
      output.rowEnded()
    }

    private def encode(row: BinaryRow): Unit = {
      rows += 1
      output.mark()
      try encoder.encode(row)
      catch {
        case value: BadValue =>
          bad.add(rows, row, value)
          output.reset()
      }
      sum += row.hash
    }

    override def commit(): WriterCommitMessage = {
      Failpoints.reach(Failpoint.BeforeTaskCommit)
      val report = TaskReport(attempt, ContentDigest(rows, sum), bad.deadLetters, metrics.encodeNanos(rows))
      val message = output.finish(report)
      Failpoints.reach(Failpoint.AfterTaskCommit)
      message
    }

    override def currentMetricsValues(): Array[CustomTaskMetric] = metrics.values(rows, output.bytes)
    override def abort(): Unit = ()
    override def close(): Unit = output.close()
  }
}
