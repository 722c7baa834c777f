package io.epochal.kit.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.PartitionOffset

import io.epochal.kit.source.time.EventTimeColumn

/** The offset of an endless reader, with the highest event time of the rows that it has delivered.
  *
  * @param highest
  *   microseconds since 1970, or `EventTimeColumn.Absent`
  */
final private case class MarkedPartitionOffset(offset: PartitionOffset, highest: Long) extends PartitionOffset

/** The endless readers of a source, which look at the event time of each row that they deliver. */
final private class EndlessEventTimeReaders(readers: EndlessReaderFactory, column: EventTimeColumn)
    extends EndlessReaderFactory {

  override def createReader(partition: InputPartition): EndlessReader =
    new EndlessEventTimeReader(readers.createReader(partition), column)
}

/** A row counts when it is delivered: Spark asks for the offset after it has taken the row. */
final private class EndlessEventTimeReader(reader: EndlessReader, column: EventTimeColumn) extends EndlessReader {
  private var highest = EventTimeColumn.Absent

  override def next(timeoutMillis: Long): Boolean = reader.next(timeoutMillis)

  override def get(): InternalRow = {
    val row = reader.get()
    highest = math.max(highest, column.of(row))
    row
  }

  override def offset: PartitionOffset = MarkedPartitionOffset(reader.offset, highest)

  override def close(): Unit = reader.close()
}
