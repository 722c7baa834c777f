package io.epochal.ingest.intake

/** Records of one request, or consecutive lines of one connection. Stored atomically.
  *
  * @param stream
  *   as in the column `stream`; empty if the client named none
  * @param remote
  *   address and port of the client, as in the column `remote`
  * @param receivedAt
  *   in microseconds since 1970
  * @param headers
  *   JSON object of strings, or null
  * @param bytes
  *   the records, back to back from index 0
  * @param ends
  *   record i ends before `ends(i)`; at least one record, in ascending order
  * @param key
  *   idempotency key, including its scope
  */
final case class Arrival(
    stream: String,
    remote: String,
    receivedAt: Long,
    headers: String,
    bytes: Array[Byte],
    ends: Array[Int],
    key: Option[String]) {

  def records: Int = ends.length
}
