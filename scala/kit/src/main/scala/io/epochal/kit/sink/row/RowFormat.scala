package io.epochal.kit.sink.row

import scala.util.control.NoStackTrace

import io.epochal.core.annotation.Stable
import io.epochal.kit.spark.memory.BinaryRow

/** How a task turns rows into bytes for its system. Travels to the tasks. */
trait RowFormat extends Serializable {
  def encoder(out: ChunkedBytes): RowEncoder
}

/** Writes rows one after the other. Belongs to one task. */
abstract class RowEncoder {

  /** @throws BadValue
    *   when a value cannot be stored; what was written of the row must then be thrown away with the task
    */
  def encode(row: BinaryRow): Unit
}

/** A value that the column cannot hold. The writer adds which row it was.
  *
  * @param column
  *   place in the query's rows
  */
@Stable
final class BadValue(val column: Int, val reason: String) extends RuntimeException(reason) with NoStackTrace

object BadValue {
  val Missing = "it is NULL, and the column must have a value"
}

/** The rows of an epoch as they reached the driver.
  *
  * @param chunks
  *   bytes and how many of them count, in the order of the partitions; where a chunk ends depends on the format. They may be
  *   read anew, and from files, by each iterator: use one at a time
  */
final case class EncodedRows(rows: Long, bytes: Long, chunks: Iterable[(Array[Byte], Int)])
