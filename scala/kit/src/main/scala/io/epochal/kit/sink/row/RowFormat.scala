package io.epochal.kit.sink.row

import scala.util.control.NoStackTrace

import io.epochal.core.annotation.Stable
import io.epochal.kit.spark.memory.BinaryRow

/** Encodes rows for a sink's system. Serialized to the tasks. */
trait RowFormat extends Serializable {
  def encoder(out: ChunkedBytes): RowEncoder
}

/** Encodes rows, one after the other. Belongs to one task. */
abstract class RowEncoder {

  /** Encodes a row.
    *
    * @throws BadValue
    *   if a value cannot be stored; the bytes written of the row must then be discarded with the task
    */
  def encode(row: BinaryRow): Unit
}

/** A value that the column cannot hold. The writer adds the row's number.
  *
  * @param column
  *   index in the query's rows
  */
@Stable
final class BadValue(val column: Int, val reason: String) extends RuntimeException(reason) with NoStackTrace

object BadValue {
  val Missing = "it is NULL, and the column must have a value"
}

/** The rows of an epoch as they reached the driver.
  *
  * @param chunks
  *   bytes and their length in use, in the order of the partitions; chunk boundaries depend on the format. Each iterator may
  *   read them again, from files too: use one at a time
  */
final case class EncodedRows(rows: Long, bytes: Long, chunks: Iterable[(Array[Byte], Int)])
