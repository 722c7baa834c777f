package io.epochal.kit.sink.row

import io.epochal.kit.spark.memory.BinaryRow

/** Encodes rows, one after the other. Belongs to one task. */
abstract class RowEncoder {

  /** Encodes a row.
    *
    * @throws BadValue
    *   if a value cannot be stored; the bytes written of the row must then be discarded with the task
    */
  def encode(row: BinaryRow): Unit
}
