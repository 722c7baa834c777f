package io.epochal.kit.sink.row

/** A row that could not be stored, on its way to the dead-letter table.
  *
  * @param row
  *   its number in the partition, from 1
  * @param json
  *   the row's values by the names of the query's columns
  */
final case class DeadLetter(partition: Int, row: Long, column: String, reason: String, json: String)
