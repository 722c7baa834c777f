package io.epochal.kit.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.streaming._

/** Rows of a partition without an end. An interrupt ends a wait with an InterruptedException. */
trait EndlessReader extends AutoCloseable {

  /** Moves to the next row, and waits for it if necessary.
    *
    * @param timeoutMillis
    *   the maximum wait; 0 does not wait, Long.MaxValue waits until there is a row
    * @return
    *   false if no row arrived in time; the reader has not moved
    */
  def next(timeoutMillis: Long): Boolean

  /** The current row; valid until `next` is called again. */
  def get(): InternalRow

  /** The position after the row of `get`, or the partition's start: exclusive, as every offset. */
  def offset: PartitionOffset
}
