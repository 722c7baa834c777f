package io.epochal.rest.sink

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.UUID

import io.epochal.rest.sink.Template.quote

/** Idempotency keys: UUIDs version 5 (RFC 9562: name-based, SHA-1), so that anyone can recompute them. A name is one
  * line of JSON, followed by lines with the content of the request. `docs/PROTOCOL.md` is normative.
  *
  *   - by position: `["place",query,epoch,partition,first,rows,[values in the URL]]` and the rows as sent,
  *     concatenated. Different rows in the same position have a different key: should a replay produce them after all,
  *     they are sent and not lost.
  *   - by columns: `["columns",sink,epoch or null]` and one line per row with the JSON of its key columns.
  *   - of rows that are resent because the response demanded it: `["again",key,round,[their numbers in the request]]`.
  *   - of the request that creates a row which was missing: `["create",key]`.
  */
object IdempotencyKey {

  val Namespace: UUID = UUID.fromString("2f0a2a1e-6d1b-5c55-9d0e-8f6b1c7e4a90")

  def byPlace(
      query: String,
      epoch: String,
      partition: Int,
      first: Long,
      rows: Int,
      urlValues: Seq[String]
  ): Array[Byte] = {
    val values = urlValues.map(quote).mkString("[", ",", "]")
    s"""["place",${quote(query)},${quote(epoch)},$partition,$first,$rows,$values]""".getBytes(UTF_8)
  }

  /** @param epoch
    *   None: rows of the same key are the same in every epoch
    */
  def byColumns(sink: String, epoch: Option[String]): Array[Byte] =
    s"""["columns",${quote(sink)},${epoch.fold("null")(quote)}]""".getBytes(UTF_8)

  def again(key: String, round: Int, rows: Seq[Int]): String =
    of(digest(s"""["again",${quote(key)},$round,${rows.mkString("[", ",", "]")}]""".getBytes(UTF_8)))

  def create(key: String): String = of(digest(s"""["create",${quote(key)}]""".getBytes(UTF_8)))

  /** The beginning of a name; the caller appends the content. */
  def digest(head: Array[Byte]): MessageDigest = {
    val sha1 = MessageDigest.getInstance("SHA-1")
    sha1.update(
      ByteBuffer
        .allocate(16)
        .putLong(Namespace.getMostSignificantBits)
        .putLong(Namespace.getLeastSignificantBits)
        .array)
    sha1.update(head)
    sha1
  }

  def of(name: MessageDigest): String = {
    val bytes = ByteBuffer.wrap(name.digest())
    val high = bytes.getLong & ~0xf000L | 0x5000L
    val low = bytes.getLong & 0x3fffffffffffffffL | Long.MinValue
    new UUID(high, low).toString
  }
}
