package io.epochal.ingest.intake

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

/** Payload of a journal frame: arrivals back to back. Numbers are big-endian.
  *
  * {{{
  * arrival*  receivedAt   u8, microseconds since 1970
  *           key          u1: 0 absent, 1 present; then 16 bytes, see [[KeyDigest]]
  *           stream       u4 length in bytes, then UTF-8
  *           remote       as stream
  *           headers      as stream; length -1: no headers
  *           records      u4
  *           ends         u4 each
  *           bytes        of the records
  * }}}
  */
private[epochal] object ArrivalFormat {

  /** Reads the arrival at `at`. It shares the payload's bytes. */
  def read(payload: Array[Byte], at: Int, until: Int): StoredArrival = {
    val buffer = ByteBuffer.wrap(payload, at, until - at)
    val receivedAt = buffer.getLong()
    val key = Option.when(buffer.get() != 0)(KeyDigest(buffer.getLong(), buffer.getLong()))
    val (stream, remote, headers) = (text(buffer), text(buffer), text(buffer))
    val records = buffer.getInt()
    val ends = buffer.position()
    val bytes = ends + 4 * records
    val size = if (records == 0) 0 else buffer.getInt(bytes - 4)
    StoredArrival(receivedAt, key, stream, remote, headers, payload, records, ends, bytes, bytes + size)
  }

  /** All arrivals of a payload. */
  def all(payload: Array[Byte], length: Int): Iterator[StoredArrival] =
    Iterator.unfold(0)(at =>
      Option.when(at < length) {
        val arrival = read(payload, at, length)
        arrival -> arrival.until
      })

  private def text(buffer: ByteBuffer): String = {
    val length = buffer.getInt()
    if (length < 0) null
    else {
      val text = new String(buffer.array, buffer.position(), length, UTF_8)
      buffer.position(buffer.position() + length)
      text
    }
  }
}

/** An arrival with its strings encoded, so its length in the journal is known before it is written. */
final private[intake] class EncodedArrival(arrival: Arrival) {
  private val stream = arrival.stream.getBytes(UTF_8)
  private val remote = arrival.remote.getBytes(UTF_8)
  private val headers = Option(arrival.headers).map(_.getBytes(UTF_8))
  private val size = arrival.ends(arrival.ends.length - 1)

  val key: Option[KeyDigest] = arrival.key.map(KeyDigest.of)

  def records: Int = arrival.records

  val length: Int = Math.toIntExact(
    8L + 1 + (if (key.isEmpty) 0 else 16) + 16 + stream.length + remote.length + headers.fold(0)(_.length) +
      4L * arrival.ends.length + size)

  def write(into: ByteBuffer): Unit = {
    into.putLong(arrival.receivedAt)
    into.put((if (key.isEmpty) 0 else 1).toByte)
    key.foreach(digest => into.putLong(digest.high).putLong(digest.low))
    into.putInt(stream.length).put(stream)
    into.putInt(remote.length).put(remote)
    into.putInt(headers.fold(-1)(_.length))
    headers.foreach(into.put(_))
    into.putInt(arrival.ends.length)
    into.asIntBuffer().put(arrival.ends): Unit
    into.position(into.position() + 4 * arrival.ends.length).put(arrival.bytes, 0, size): Unit
  }
}

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
