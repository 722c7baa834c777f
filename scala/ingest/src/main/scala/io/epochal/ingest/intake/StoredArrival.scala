package io.epochal.ingest.intake

/** An arrival within the payload of a frame.
  *
  * @param headers
  *   JSON text, or null
  * @param ends
  *   index in the payload of the array of record ends
  * @param bytes
  *   index of the first record
  * @param until
  *   index after the arrival
  */
final private[epochal] case class StoredArrival(
    receivedAt: Long,
    key: Option[KeyDigest],
    stream: String,
    remote: String,
    headers: String,
    payload: Array[Byte],
    records: Int,
    ends: Int,
    bytes: Int,
    until: Int
) {

  /** Index in the payload after a record; `end(-1)` is the start of the first record. */
  def end(record: Int): Int = bytes + (if (record < 0) 0 else intAt(ends + 4 * record))

  private def intAt(at: Int): Int =
    (payload(at) & 0xff) << 24 | (payload(at + 1) & 0xff) << 16 | (payload(at + 2) & 0xff) << 8 | payload(at + 3) & 0xff
}
