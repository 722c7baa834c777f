package io.epochal.kit.source.journal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/** The rows of journal slices, in order. After the end, reading continues if more slices have been added. */
trait JournalRows extends PartitionReader[InternalRow] {

  /** The journal's number of the record behind the row. */
  def number: Long
}
