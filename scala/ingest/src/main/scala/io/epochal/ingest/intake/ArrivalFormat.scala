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
