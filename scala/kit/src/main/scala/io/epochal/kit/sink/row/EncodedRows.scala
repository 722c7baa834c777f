package io.epochal.kit.sink.row

/** The rows of an epoch as they reached the driver.
  *
  * @param chunks
  *   bytes and their length in use, in the order of the partitions; chunk boundaries depend on the format. Each iterator may
  *   read them again, from files too: use one at a time
  */
final case class EncodedRows(rows: Long, bytes: Long, chunks: Iterable[(Array[Byte], Int)])
