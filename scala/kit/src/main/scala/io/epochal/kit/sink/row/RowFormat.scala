package io.epochal.kit.sink.row

/** Encodes rows for a sink's system. Serialized to the tasks. */
trait RowFormat extends Serializable {
  def encoder(out: ChunkedBytes): RowEncoder
}
