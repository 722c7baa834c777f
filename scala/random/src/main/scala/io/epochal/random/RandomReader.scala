package io.epochal.random

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}

import io.epochal.kit.source.{EndlessReader, EndlessReaderFactory}
import io.epochal.kit.spark.memory.{BinaryRow, Memory}

/** Reader of one partition of a micro-batch. The row is reused, as Spark allows. */
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

final private class RandomEndlessReaders(options: RandomOptions) extends EndlessReaderFactory {

  override def createReader(partition: InputPartition): EndlessReader =
    new RandomEndlessReader(options, partition.asInstanceOf[RandomEndlessPartition])
}

/** Reader of an endless partition; waits until a row is due. The offset is a count of rows, so a wait without a row does not change
  * it.
  */
final private class RandomEndlessReader(options: RandomOptions, partition: RandomEndlessPartition)
    extends EndlessReader {
  import partition.{at, maxRows}

  private val row = new RandomRow(options, at.base)
  private var count = at.count

  /** Id of the row after `count` rows of this partition. */
  private def id(count: Long): Long = at.base.rows + at.partition + count * at.of

  override def next(timeoutMillis: Long): Boolean = {
    val begin = System.nanoTime()
    val due =
      if (id(count) < maxRows) RandomPlan.dueAt(id(count), options.rowsPerSecond, at.base.startedAt) else Long.MaxValue
    @tailrec def isThere: Boolean = {
      val wait = due - System.currentTimeMillis()
      val left = timeoutMillis - (System.nanoTime() - begin) / 1000000
      if (wait > 0 && left > 0) {
        // At most a second, since the wall clock may be adjusted meanwhile.
        Thread.sleep(math.min(math.min(wait, left), 1000L))
        isThere
      } else wait <= 0
    }
    val there = isThere
    if (there) count += 1
    there
  }

  override def get(): InternalRow = row.of(id(count - 1))

  override def offset: PartitionOffset = at.copy(count = count)

  override def close(): Unit = ()
}

/** Generates rows in Spark's binary form, in one buffer and without an allocation per row.
  *
  * Layout of a binary row of four columns: 8 bytes of NULL bits (all 0 here); 8 bytes for each column, for the string its offset
  * (upper half) and size (lower half); then the string's bytes, zero-padded to a multiple of 8.
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
    val paddedSize = roundUp(size)
    java.util.Arrays.fill(buffer, Fixed + size, Fixed + paddedSize, 0.toByte)
    put(Id, id)
    put(Value, (Fixed.toLong << 32) | size)
    put(Length, length.toLong)
    put(Timestamp, first + (id * perRow).toLong)
    row.pointTo(buffer, 0, Fixed + paddedSize)
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

/** Position of one partition of a continuous query. Spark merges the offsets of all partitions at each epoch.
  *
  * @param base
  *   start position of the query, without partitions
  */
final private[random] case class RandomPartitionOffset(base: RandomPosition, partition: Int, of: Int, count: Long)
    extends PartitionOffset

/** Endless partition of a continuous or real-time query: the ids from `at` on, each when it is due. */
final private[random] case class RandomEndlessPartition(at: RandomPartitionOffset, maxRows: Long) extends InputPartition
