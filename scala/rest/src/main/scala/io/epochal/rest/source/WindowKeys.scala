package io.epochal.rest.source

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.time.Instant

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonParser, JsonToken}

import io.epochal.kit.record.RecordBlock

/** The keys of windows' records, for as long as later windows may return the same records. Not thread-safe.
  *
  * A key is identified by 128 bits of its SHA-256: about a hundred bytes of memory per record.
  *
  * @param names
  *   the fields that make a record's key
  * @param mismatch
  *   makes the error of a record without a key, from the request and the problem
  */
final private[rest] class WindowKeys(names: Seq[String], mismatch: (String, String) => Throwable) {
  import WindowKeys._

  private val places = names.zipWithIndex.toMap
  private val values = new Array[Array[Byte]](names.size)
  private val sha = MessageDigest.getInstance("SHA-256")
  private val heldKeys = new java.util.HashSet[Key]
  private val windows = mutable.Queue.empty[WindowEntry]
  private var current = Option.empty[Window]

  /** Begins a window; the keys of windows that end before it are dropped. Windows that end exactly where it begins are
    * kept: some APIs return a record of that moment in both.
    *
    * @param record
    *   the number of the next record
    */
  def enter(window: Window, record: Long): Unit = {
    current = Some(window)
    while (windows.headOption.exists(_.until.isBefore(window.from)))
      windows.dequeue().keys.foreach(heldKeys.remove)
    if (!windows.lastOption.exists(_.until == window.to)) windows.enqueue(new WindowEntry(window.to, record))
  }

  /** The windows whose keys are held. */
  def seenWindows: Seq[SeenWindow] =
    windows.iterator.filter(_.keys.nonEmpty).map(one => SeenWindow(one.until, one.record)).toSeq

  /** Removes the records whose keys are held from a block, and adds the keys of the others.
    *
    * @return
    *   the new records; None if there are none
    */
  def fresh(block: RecordBlock): Option[RecordBlock] =
    RecordArray.select(block)(read(_, block.bytes, block.from))((_, _) => hold(key()))

  /** Adds the keys of delivered records: `take` of an array's, after the first `skip`. */
  def remember(bytes: Array[Byte], length: Int, skip: Int, count: Int): Unit = {
    var record = 0
    RecordArray.each(bytes, 0, length)(read(_, bytes, 0)) { (_, _) =>
      if (record >= skip && record < skip + count) { val _ = hold(key()) }
      record += 1
    }
  }

  private def hold(key: Key): Boolean = {
    val isNew = heldKeys.add(key)
    if (isNew) windows.last.keys += key
    isNew
  }

  /** Reads a record, and fills `values` with its key's values. */
  private def read(parser: JsonParser, bytes: Array[Byte], start: Int): Unit = {
    java.util.Arrays.fill(values.asInstanceOf[Array[AnyRef]], null)
    if (parser.currentToken == JsonToken.START_OBJECT)
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        val place = places.get(parser.currentName)
        parser.nextToken()
        place match {
          case Some(number) => values(number) = value(parser, bytes, start)
          case None         => val _ = parser.skipChildren()
        }
      }
    else { val _ = parser.skipChildren() }
  }

  /** The type and text of a value; null if absent. */
  private def value(parser: JsonParser, bytes: Array[Byte], start: Int): Array[Byte] = parser.currentToken match {
    case JsonToken.VALUE_NULL => null
    case JsonToken.START_OBJECT | JsonToken.START_ARRAY =>
      val from = start + parser.currentTokenLocation().getByteOffset.toInt
      parser.skipChildren()
      java.util.Arrays.copyOfRange(bytes, from, start + parser.currentLocation().getByteOffset.toInt)
    case JsonToken.VALUE_STRING => s"s${parser.getText}".getBytes(UTF_8)
    case _                      => s"v${parser.getText}".getBytes(UTF_8)
  }

  private def key(): Key = {
    var i = 0
    while (i < values.length) {
      if (values(i) == null)
        throw mismatch(
          s"for ${current.fold("records")(_.description)}",
          s"a record with no value for the key column '${names(i)}'")
      sha.update(ByteBuffer.allocate(4).putInt(values(i).length).array())
      sha.update(values(i))
      i += 1
    }
    val digest = ByteBuffer.wrap(sha.digest())
    Key(digest.getLong(), digest.getLong())
  }
}

private object WindowKeys {
  final private case class Key(high: Long, low: Long) {
    override def hashCode: Int = low.toInt
  }

  final private class WindowEntry(val until: Instant, val record: Long) {
    val keys = mutable.ArrayBuffer.empty[Key]
  }
}
