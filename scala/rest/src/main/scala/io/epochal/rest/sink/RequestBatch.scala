package io.epochal.rest.sink

import java.io.Writer
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.{Arrays => JavaArrays, UUID}

import io.epochal.rest.sink.Template.quoted

/** The rows of the next request. Belongs to one task and is reused.
  *
  * @param keepWhole
  *   whether whole rows are kept, for dead letters
  */
final private[rest] class RequestBatch(keepWhole: Boolean) {
  private val sent = new Slices
  private val keys = new Slices
  private val whole = new Slices

  private var places = new Array[Long](16)
  private val deletions = new java.util.BitSet

  /** A row's position in its partition, from 0. */
  def place(row: Int): Long = places(row)

  /** Whether a row deletes. */
  def deletes(row: Int): Boolean = deletions.get(row)

  def rows: Int = sent.count

  def bytes: Int = sent.bytes.length

  /** Adds the row that was encoded last. */
  def add(row: RowEncoder, place: Long, deletes: Boolean): Unit = {
    if (rows == places.length) places = JavaArrays.copyOf(places, rows * 2)
    places(rows) = place
    deletions.set(rows, deletes)
    sent.add(row.sent)
    keys.add(row.key)
    if (keepWhole && (row.whole ne row.sent)) whole.add(row.whole)
  }

  def clear(): Unit = {
    sent.clear()
    keys.clear()
    whole.clear()
  }

  /** The whole row as JSON. */
  def wholeRow(row: Int): String = if (whole.count > 0) whole.text(row) else sent.text(row)

  /** A request body of the chosen rows, in their order. */
  def body(form: RequestBody, key: String, chosen: Array[Int]): Array[Byte] = {
    val (head, tail) = (form.head(key), form.tail(key))
    val size = chosen.foldLeft(head.length + tail.length + form.between.length.toLong * (chosen.length - 1)) {
      (sum, row) => sum + sent.end(row) - sent.start(row)
    }
    val out = new Array[Byte](Math.toIntExact(size))
    System.arraycopy(head, 0, out, 0, head.length)
    var at = head.length
    var i = 0
    while (i < chosen.length) {
      if (i > 0) {
        System.arraycopy(form.between, 0, out, at, form.between.length)
        at += form.between.length
      }
      at = sent.bytes.copyTo(out, at, sent.start(chosen(i)), sent.end(chosen(i)))
      i += 1
    }
    System.arraycopy(tail, 0, out, at, tail.length)
    out
  }

  /** The idempotency key of all rows together. */
  def keyByPlace(head: Array[Byte]): String = {
    val name = IdempotencyKey.digest(head)
    name.update('\n'.toByte)
    sent.bytes.digest(name, 0, sent.bytes.length)
    IdempotencyKey.of(name)
  }

  def keyByColumns(head: Array[Byte]): String = {
    val name = IdempotencyKey.digest(head)
    (0 until rows).foreach { row =>
      name.update('\n'.toByte)
      keys.bytes.digest(name, keys.start(row), keys.end(row))
    }
    IdempotencyKey.of(name)
  }
}

/** Texts, concatenated in one array. */
final private class Slices {
  val bytes = new Utf8Bytes
  private var ends = new Array[Int](16)
  var count = 0

  def add(text: Utf8Bytes): Unit = {
    bytes.put(text, 0, text.length)
    if (count == ends.length) ends = JavaArrays.copyOf(ends, count * 2)
    ends(count) = bytes.length
    count += 1
  }

  def clear(): Unit = {
    bytes.truncate(0)
    count = 0
  }

  def start(i: Int): Int = if (i == 0) 0 else ends(i - 1)
  def end(i: Int): Int = ends(i)
  def text(i: Int): String = bytes.text(start(i), end(i))
}

/** UTF-8 text in one reusable array that grows. Unpaired surrogates become question marks. */
final private[rest] class Utf8Bytes extends Writer {
  private var array = new Array[Byte](1024)
  private var used = 0
  private var high: Char = 0

  def length: Int = used

  def truncate(length: Int): Unit = {
    used = length
    high = 0
  }

  def put(bytes: Array[Byte], from: Int, until: Int): Unit = {
    reserve(until.toLong - from)
    System.arraycopy(bytes, from, array, used, until - from)
    used += until - from
  }

  def put(other: Utf8Bytes, from: Int, until: Int): Unit = put(other.array, from, until)

  /** Copies bytes into another array.
    *
    * @return
    *   the position after the copy
    */
  def copyTo(target: Array[Byte], at: Int, from: Int, until: Int): Int = {
    System.arraycopy(array, from, target, at, until - from)
    at + until - from
  }

  def text(from: Int, until: Int): String = new String(array, from, until - from, UTF_8)

  /** Adds bytes to a digest. */
  def digest(into: java.security.MessageDigest, from: Int, until: Int): Unit = into.update(array, from, until - from)

  override def write(chars: Array[Char], offset: Int, count: Int): Unit = {
    reserve(3L * count + 3)
    var i = offset
    while (i < offset + count) {
      val c = chars(i)
      if (Character.isHighSurrogate(c)) {
        if (high != 0) one('?'.toInt)
        high = c
      } else if (Character.isLowSurrogate(c)) {
        if (high == 0) one('?'.toInt) else pair(Character.toCodePoint(high, c))
        high = 0
      } else {
        if (high != 0) one('?'.toInt)
        high = 0
        if (c < 0x80) one(c.toInt)
        else if (c < 0x800) {
          one(0xc0 | c >> 6)
          one(0x80 | c & 0x3f)
        } else {
          one(0xe0 | c >> 12)
          one(0x80 | c >> 6 & 0x3f)
          one(0x80 | c & 0x3f)
        }
      }
      i += 1
    }
  }

  override def flush(): Unit = ()
  override def close(): Unit = ()

  private def pair(point: Int): Unit = {
    one(0xf0 | point >> 18)
    one(0x80 | point >> 12 & 0x3f)
    one(0x80 | point >> 6 & 0x3f)
    one(0x80 | point & 0x3f)
  }

  private def one(byte: Int): Unit = {
    array(used) = byte.toByte
    used += 1
  }

  private def reserve(more: Long): Unit = if (used + more > array.length) {
    val size = math.min(Int.MaxValue - 8L, math.max(array.length * 2L, used + more))
    if (size < used + more) throw new IllegalStateException("a request of more than 2 GB")
    array = JavaArrays.copyOf(array, size.toInt)
  }
}

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
    val values = urlValues.map(quoted).mkString("[", ",", "]")
    s"""["place",${quoted(query)},${quoted(epoch)},$partition,$first,$rows,$values]""".getBytes(UTF_8)
  }

  /** @param epoch
    *   None: rows of the same key are the same in every epoch
    */
  def byColumns(sink: String, epoch: Option[String]): Array[Byte] =
    s"""["columns",${quoted(sink)},${epoch.fold("null")(quoted)}]""".getBytes(UTF_8)

  def again(key: String, round: Int, rows: Seq[Int]): String =
    of(digest(s"""["again",${quoted(key)},$round,${rows.mkString("[", ",", "]")}]""".getBytes(UTF_8)))

  def create(key: String): String = of(digest(s"""["create",${quoted(key)}]""".getBytes(UTF_8)))

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
