package io.epochal.ingest.intake

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

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
