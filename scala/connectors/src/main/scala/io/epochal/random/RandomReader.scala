package io.epochal.random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.{
  ContinuousPartitionReader,
  ContinuousPartitionReaderFactory,
  PartitionOffset
}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

import io.epochal.kit.engine.memory.{BinaryRow, Memory}

/** Travels to the executors and makes a reader for each task. Whatever it holds must be serializable. */
final private class RandomReaderFactory(options: RandomOptions) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = partition match {
    case slice: RandomSlice => new RandomReader(options, slice)
    case other              => throw new IllegalArgumentException(s"not a partition of ${RandomOptions.Format}: $other")
  }
}

/** One partition of a micro-batch. `next` moves, `get` gives the row; the row is reused, as Spark allows. */
final private class RandomReader(options: RandomOptions, slice: RandomSlice) extends PartitionReader[InternalRow] {

  private val row = new RandomRow(options, slice.of)
  private var id = slice.first - slice.step

  override def next(): Boolean = {
    id += slice.step
    id < slice.end
  }

  override def get(): InternalRow = row.of(id)

  override def close(): Unit = ()
}

/** A partition of a continuous query: the ids from `at` on, each when it is due. */
final case class RandomContinuousPartition(at: RandomPartitionOffset, rowsPerSecond: Long, maxRows: Long)
    extends InputPartition

final private class RandomContinuousReaderFactory(options: RandomOptions) extends ContinuousPartitionReaderFactory {

  override def createReader(partition: InputPartition): ContinuousPartitionReader[InternalRow] = partition match {
    case endless: RandomContinuousPartition => new RandomContinuousReader(options, endless)
    case other => throw new IllegalArgumentException(s"not a partition of ${RandomOptions.Format}: $other")
  }
}

/** Runs for as long as the query does: `next` blocks until a row is due and never returns false.
  *
  * `getOffset` is the position after the row that `get` gives, or the start before the first: Spark reads it with every
  * row, and what it read last when the epoch ended is where a restart begins.
  */
final private class RandomContinuousReader(options: RandomOptions, partition: RandomContinuousPartition)
    extends ContinuousPartitionReader[InternalRow] {
  import partition.{at, maxRows, rowsPerSecond}

  private val row = new RandomRow(options, at.base)
  private var count = at.count

  private def id: Long = at.base.rows + at.partition + (count - 1) * at.of

  /** Spark interrupts the wait when the query stops. */
  override def next(): Boolean = {
    count += 1
    val due = if (id < maxRows) RandomPlan.dueAt(id, rowsPerSecond, at.base.startedAt) else Long.MaxValue
    var wait = due - System.currentTimeMillis()
    while (wait > 0) {
      Thread.sleep(math.min(wait, 1000L))
      wait = due - System.currentTimeMillis()
    }
    true
  }

  override def get(): InternalRow = row.of(id)

  override def getOffset: PartitionOffset = at.copy(count = count)

  override def close(): Unit = ()
}

/** Makes rows in Spark's own binary form, in one buffer and without an object per row.
  *
  * Layout of a binary row of four columns: 8 bytes that mark NULLs (all 0 here); 8 bytes a column, where the string's are
  * its offset (upper half) and size (lower half); then the string's bytes, filled with zeros to a multiple of 8.
  */
final private class RandomRow(options: RandomOptions, position: RandomPosition) {
  import RandomRow._

  private val strings = options.strings
  private val first = options.rowZero(position)
  private val perRow = options.microsPerRow
  private val buffer = new Array[Byte](Fixed + roundUp(strings.maxBytes))
  private val row = BinaryRow.empty(Columns)

  def of(id: Long): InternalRow = {
    val start = strings.start(id)
    val length = strings.length(start)
    val size = strings.write(start, length, buffer, Fixed)
    val padded = roundUp(size)
    java.util.Arrays.fill(buffer, Fixed + size, Fixed + padded, 0.toByte)
    put(Id, id)
    put(Value, (Fixed.toLong << 32) | size)
    put(Length, length.toLong)
    put(Timestamp, first + (id * perRow).toLong)
    row.pointTo(buffer, 0, Fixed + padded)
    row.internal
  }

  private def put(column: Int, value: Long): Unit =
    Memory.putLong(buffer, Memory.ARRAY_START + 8 + 8 * column, value)
}

private object RandomRow {
  private val Columns = 4
  private val Id = 0
  private val Value = 1
  private val Length = 2
  private val Timestamp = 3
  private val Fixed = 8 + 8 * Columns

  private def roundUp(bytes: Int): Int = (bytes + 7) & ~7
}
