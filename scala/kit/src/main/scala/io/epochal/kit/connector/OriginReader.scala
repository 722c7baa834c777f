package io.epochal.kit.connector

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.epochal.kit.source.{EndlessReader, EndlessReaderFactory}

/** The rows of one task, between two encoded positions. */
final private[connector] case class OriginPartition(start: String, end: String) extends InputPartition

/** A task that follows an origin.
  *
  * @param rows
  *   before the position from which the query continued
  * @param start
  *   where this task begins, encoded
  */
final private[connector] case class TailPartition(index: Int, rows: Long, start: String) extends InputPartition

/** The end of a task in an epoch.
  *
  * @param count
  *   rows that the task has delivered
  */
final private[connector] case class TailOffset(from: TailPartition, position: String, count: Long)
    extends PartitionOffset

final private[connector] case class OriginReaderFactory[P](task: ConnectorInTask[SourceConnector[P]])
    extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case OriginPartition(start, end) =>
      val (positions, calls) = OriginCalls.inTask(task)
      new OriginReader(calls, new PositionRange(positions.fromText(start), positions.fromText(end)))
    case other => throw new IllegalArgumentException(s"not a partition of a connector: $other")
  }
}

final private class OriginReader[P](calls: OriginCalls[P], range: PositionRange[P])
    extends PartitionReader[InternalRow] {

  private val rows = calls.opened("opened a partition")(_.read(range))

  override def next(): Boolean = calls.once("read a partition")(rows.next())

  override def get(): InternalRow = rows.get()

  override def close(): Unit = calls.closed(rows)
}

final private[connector] case class TailReaders[P](task: ConnectorInTask[SourceConnector[P]])
    extends EndlessReaderFactory {

  override def createReader(partition: InputPartition): EndlessReader = partition match {
    case tail: TailPartition =>
      val (positions, calls) = OriginCalls.inTask(task)
      new OriginTailReader(positions, calls, tail)
    case other => throw new IllegalArgumentException(s"not a partition of a connector: $other")
  }
}

final private class OriginTailReader[P](positions: PositionFormat[P], calls: OriginCalls[P], from: TailPartition)
    extends EndlessReader {

  private val reader = calls.opened("followed its end")(_ => calls.tail.tail(positions.fromText(from.start)))
  private var count = 0L

  override def next(timeoutMillis: Long): Boolean = {
    val hasRow = calls.once("followed its end")(reader.next(timeoutMillis))
    if (hasRow) count += 1
    hasRow
  }

  override def get(): InternalRow = reader.get()

  override def offset: PartitionOffset = TailOffset(from, positions.toText(reader.position()), count)

  override def close(): Unit = calls.closed(reader)
}
