package io.epochal.core.journal

import java.util.{HexFormat, Locale}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

/** A sealed file of the journal, as an offset names it: enough to tell whether what is in the file is what was written.
  *
  * @param name
  *   of the file, in the journal's directory
  * @param from
  *   its first row, counted from 0
  * @param until
  *   the row after its last
  * @param index
  *   where in the file its index begins
  * @param bytes
  *   length of the file
  * @param crc
  *   checksum of header and index; the index holds those of the frames
  */
final case class Segment(name: String, from: Long, until: Long, index: Long, bytes: Long, crc: Int) {
  require(Segment.isName(name), s"'$name' is no name of a segment")
  require(from >= 0 && from < until, s"the segment $name has no rows: $from to $until")
  require(index > 0 && index < bytes, s"the segment $name has no index: $index of $bytes bytes")
}

object Segment {
  private val Name = "(\\d{19})-[0-9a-f]{32}-\\d{1,9}[.]seg".r

  /** A name that no other run gives: rows from `from` on, written by `run` as its `number`th.
    *
    * @param run
    *   32 hexadecimal digits
    */
  def name(from: Long, run: String, number: Int): String = s"${"%019d".formatLocal(Locale.ROOT, from)}-$run-$number.seg"

  def isName(text: String): Boolean = Name.matches(text)

  /** The first row of the segment with that name; None where it is no segment's. */
  def from(name: String): Option[Long] = name match {
    case Name(row) => row.toLongOption
    case _         => None
  }

  /** Whether a run gave the name. */
  def isOf(name: String, run: String): Boolean = name.contains(s"-$run-")

  /** Adds the fields of a segment, always in the same order. */
  def write(segment: Segment, fields: ObjectNode): Unit = {
    fields.put("name", segment.name)
    fields.put("from", segment.from).put("until", segment.until)
    fields.put("index", segment.index).put("bytes", segment.bytes)
    fields.put("crc", HexFormat.of.toHexDigits(segment.crc))
    ()
  }

  /** Adds the field of all segments of an offset. */
  def writeAll(segments: Seq[Segment], fields: ObjectNode): Unit = {
    val array = fields.putArray("segments")
    segments.foreach(write(_, array.addObject()))
  }

  /** @throws IllegalArgumentException
    *   where these are no segments that follow each other (J5), with the reason
    */
  def readAll(fields: ObjectNode): Seq[Segment] = {
    require(fields.path("segments").isArray, "\"segments\" is not an array")
    val segments = fields.path("segments").elements().asScala.map(read).toVector
    segments.zip(segments.drop(1)).foreach { case (one, other) =>
      require(one.until == other.from, s"the segments ${one.name} and ${other.name} do not follow each other")
    }
    segments
  }

  /** @throws IllegalArgumentException
    *   where it is no segment, with the reason
    */
  def read(node: JsonNode): Segment = {
    def number(field: String): Long = {
      val value = node.path(field)
      require(
        value.canConvertToExactIntegral && value.canConvertToLong,
        s"a segment's \"$field\" is not a whole number")
      value.longValue
    }
    val crc = node.path("crc").asText("")
    require(crc.matches("[0-9a-f]{8}"), "a segment has no \"crc\"")
    Segment(
      node.path("name").asText(""),
      number("from"),
      number("until"),
      number("index"),
      number("bytes"),
      Integer.parseUnsignedInt(crc, 16))
  }
}

/** Some of a segment's rows, as they came: they are read together or not at all.
  *
  * @param position
  *   of its payload in the file
  * @param length
  *   bytes of the payload
  * @param first
  *   the number of its first row
  * @param crc
  *   of the number of rows and the payload
  */
final case class Frame(position: Long, length: Int, first: Long, rows: Int, crc: Int) {
  def until: Long = first + rows
}
