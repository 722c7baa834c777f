package io.epochal.rest.sink

/** A row that could not be sent, or that the server rejected.
  *
  * @param row
  *   its number in the partition, from 1
  * @param key
  *   the idempotency key of its request; empty without one
  * @param json
  *   the whole row
  */
final private[rest] case class RefusedRow(partition: Int, row: Long, key: String, reason: String, json: String)
