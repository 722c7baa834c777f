package io.epochal.rest.source.page

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.time.Instant

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonParser, JsonToken}

import io.epochal.kit.json.Json
import io.epochal.kit.record.RecordBlock
import io.epochal.rest.source.paging.{SeenWindow, Window}

/** The keys of the records that windows gave, as long as a later window may give the same records again. One thread at a time.
  *
  * A key is known by 128 bits of its SHA-256: about a hundred bytes of memory a record.
  *
  * @param names
  *   the fields of a record that are its key
  * @param mismatch
  *   the error of a record without a key: what was requested, and what came
  */
final private[rest] class WindowKeys(names: Seq[String], mismatch: (String, String) => Throwable) {
  import WindowKeys._

  private val places = names.zipWithIndex.toMap
  private val values = new Array[Array[Byte]](names.size)
  private val sha = MessageDigest.getInstance("SHA-256")
  private val held = new java.util.HashSet[Key]
  private val windows = mutable.Queue.empty[Held]
  private var current = Option.empty[Window]

  /** Says which window the records come from that follow; those that end before it are forgotten. One that ends where it begins is
    * not: some APIs give a record of that moment in both.
    *
    * @param record
    *   the number of the next record
    */
  def enter(window: Window, record: Long): Unit = {
    current = Some(window)
    while (windows.headOption.exists(_.until.isBefore(window.from)))
      windows.dequeue().keys.foreach(held.remove)
    if (!windows.lastOption.exists(_.until == window.to)) windows.enqueue(new Held(window.to, record))
  }

  /** The windows whose keys are held. */
  def seen: Seq[SeenWindow] =
    windows.iterator.filter(_.keys.nonEmpty).map(one => SeenWindow(one.until, one.record)).toSeq

  /** Takes records out of a block whose keys are held, and holds the keys of the others.
    *
    * @return
    *   what is left; None: nothing
    */
  def fresh(block: RecordBlock): Option[RecordBlock] = {
    val array = new Array[Byte](block.length)
    array(0) = '['
    var end = 1
    var left = 0
    each(block.bytes, block.from, block.until) { (from, until) =>
      if (hold(key())) {
        if (left > 0) {
          array(end) = ','
          end += 1
        }
        System.arraycopy(block.bytes, from, array, end, until - from)
        end += until - from
        left += 1
      }
    }
    array(end) = ']'
    Option.when(left > 0)(RecordBlock(left, array, 0, end + 1))
  }

  /** Holds the keys of records that were given before, `take` of an array's after its first `skip`. */
  def remember(bytes: Array[Byte], length: Int, skip: Int, take: Int): Unit = {
    var record = 0
    each(bytes, 0, length) { (_, _) =>
      if (record >= skip && record < skip + take) { val _ = hold(key()) }
      record += 1
    }
  }

  private def hold(key: Key): Boolean = {
    val added = held.add(key)
    if (added) windows.last.keys += key
    added
  }

  /** Calls `record` with the bytes of each record, when `values` has those of its key. */
  private def each(bytes: Array[Byte], start: Int, until: Int)(record: (Int, Int) => Unit): Unit = {
    val parser = Json.factory.createParser(bytes, start, until - start)
    parser.nextToken()
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      val from = start + parser.currentTokenLocation().getByteOffset.toInt
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
      parser.finishToken()
      record(from, start + parser.currentLocation().getByteOffset.toInt)
    }
  }

  /** What kind of value it is, and the value; null where there is none. */
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
          s"for ${current.fold("records")(_.wanted)}",
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

  final private class Held(val until: Instant, val record: Long) {
    val keys = mutable.ArrayBuffer.empty[Key]
  }
}
