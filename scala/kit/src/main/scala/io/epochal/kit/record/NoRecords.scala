package io.epochal.kit.record

import org.apache.spark.sql.catalyst.InternalRow

/** The records of an absent body: none. */
private[epochal] object NoRecords extends Records {
  override def next(): Boolean = false
  override def row(columns: RecordColumns): InternalRow = throw new NoSuchElementException
  override def bytes: Array[Byte] = Array.emptyByteArray
}
