package io.epochal.core.journal

import java.util.{HexFormat, Locale}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

/** A sealed file of the journal, as an offset describes it: enough to verify the content of the file.
  *
  * @param name
  *   of the file, in the journal's directory
  * @param from
  *   the first row, counted from 0
  * @param until
  *   the row after the last
  * @param index
  *   position of the index in the file
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

  /** A unique name for the segment with the rows from `from` on, the `number`th of `run`.
    *
    * @param run
    *   32 hexadecimal digits
    */
  def name(from: Long, run: String, number: Int): String = s"${"%019d".formatLocal(Locale.ROOT, from)}-$run-$number.seg"

  def isName(text: String): Boolean = Name.matches(text)

  /** The first row of the segment with that name; None if it is not a segment's name. */
  def from(name: String): Option[Long] = name match {
    case Name(row) => row.toLongOption
    case _         => None
  }

  /** Whether the segment with that name belongs to a run. */
  def isOf(name: String, run: String): Boolean = name.contains(s"-$run-")

  /** Writes the fields of a segment, always in the same order. */
  def write(segment: Segment, fields: ObjectNode): Unit = {
    fields.put("name", segment.name)
    fields.put("from", segment.from).put("until", segment.until)
    fields.put("index", segment.index).put("bytes", segment.bytes)
    fields.put("crc", HexFormat.of.toHexDigits(segment.crc))
    ()
  }

  /** Writes the field for all segments of an offset. */
  def writeAll(segments: Seq[Segment], fields: ObjectNode): Unit = {
    val array = fields.putArray("segments")
    segments.foreach(write(_, array.addObject()))
  }

  /** Reads the segments of an offset.
    *
    * @throws IllegalArgumentException
    *   with the reason, if they are not contiguous segments (J5)
    */
  def readAll(fields: ObjectNode): Seq[Segment] = {
    require(fields.path("segments").isArray, "\"segments\" is not an array")
    val segments = fields.path("segments").elements().asScala.map(read).toVector
    segments.zip(segments.drop(1)).foreach { case (one, other) =>
      require(one.until == other.from, s"the segments ${one.name} and ${other.name} do not follow each other")
    }
    segments
  }

  /** Reads a segment.
    *
    * @throws IllegalArgumentException
    *   with the reason, if it is not one
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
