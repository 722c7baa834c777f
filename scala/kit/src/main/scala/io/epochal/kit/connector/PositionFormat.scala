package io.epochal.kit.connector

import java.lang.{Long => JavaLong}
import java.util
import java.util.function.{BiFunction, Function}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.annotation.Stable
import io.epochal.core.journal.Segment
import io.epochal.core.offset.OffsetFormat

/** The format of a position in Spark's checkpoint. Old checkpoints must stay readable: a position that changes its form gets a
  * new version, and the old versions are still read.
  *
  * @tparam P
  *   the position
  * @param version
  *   of the form that is written, from 1 on
  */
@Stable
sealed abstract class PositionFormat[P](val version: Int) {
  private[connector] def write(position: P): JsonNode
  private[connector] def read(version: Int, json: JsonNode): P

  final private[connector] def toText(position: P): String = write(position).toString
  final private[connector] def fromText(text: String): P = read(version, PositionFormat.mapper.readTree(text))
}

@Stable
object PositionFormat {
  private val mapper = new ObjectMapper
  private val nodes = JsonNodeFactory.instance

  /** A whole number: an id, an offset, a number of rows. */
  def number(): PositionFormat[JavaLong] = new PositionFormat[JavaLong](1) {
    override private[connector] def write(position: JavaLong): JsonNode = nodes.numberNode(position)
    override private[connector] def read(version: Int, json: JsonNode): JavaLong = whole(json)
  }

  /** A text: a cursor, a file name, a timestamp. */
  def text(): PositionFormat[String] = new PositionFormat[String](1) {
    override private[connector] def write(position: String): JsonNode = nodes.textNode(position)
    override private[connector] def read(version: Int, json: JsonNode): String = string(json)
  }

  /** A number for each of several names: bytes of files, offsets of partitions. Read as an immutable map, in the order of the
    * names.
    */
  def numbers(): PositionFormat[util.SortedMap[String, JavaLong]] =
    new PositionFormat[util.SortedMap[String, JavaLong]](1) {
      override private[connector] def write(position: util.SortedMap[String, JavaLong]): JsonNode =
        fields(position.asScala.view.mapValues(nodes.numberNode(_): JsonNode))
      override private[connector] def read(version: Int, json: JsonNode): util.SortedMap[String, JavaLong] =
        sortedEntries(json)(whole)
    }

  /** A position of several fields.
    *
    * @param version
    *   of the form that `write` produces
    * @param write
    *   the fields of a position
    * @param read
    *   the position with these fields, of any version up to the present one; throws with the problem as message
    */
  def fields[P](
      version: Int,
      write: Function[P, util.SortedMap[String, String]],
      read: BiFunction[Integer, util.SortedMap[String, String], P]): PositionFormat[P] = {
    val (toFields, fromFields) = (write, read)
    new PositionFormat[P](version) {
      override private[connector] def write(position: P): JsonNode =
        PositionFormat.fields(toFields(position).asScala.view.mapValues(nodes.textNode(_): JsonNode))
      override private[connector] def read(version: Int, json: JsonNode): P =
        fromFields(Int.box(version), sortedEntries(json)(string))
    }
  }

  private def fields(values: Iterable[(String, JsonNode)]): JsonNode = {
    val node = nodes.objectNode()
    values.toSeq.sortBy(_._1).foreach { case (name, value) => node.set[JsonNode](name, value) }
    node
  }

  private def sortedEntries[A](json: JsonNode)(read: JsonNode => A): util.SortedMap[String, A] = {
    require(json.isObject, s"""its "position" is no JSON object: $json""")
    val all = new util.TreeMap[String, A]
    json.fieldNames.forEachRemaining { name => all.put(name, read(json.get(name))); () }
    util.Collections.unmodifiableSortedMap(all)
  }

  private def whole(json: JsonNode): JavaLong = {
    require(json.isIntegralNumber && json.canConvertToLong, s"""its "position" has $json for a whole number""")
    json.longValue
  }

  private def string(json: JsonNode): String = {
    require(json.isTextual, s"""its "position" has $json for a text""")
    json.textValue
  }
}

/** A connector's offset: `{"v":1,"format":"logs","source":"/var/log","rows":12,"position":…,"segments":[…],"tails":[…]}`. */
final private[connector] class ConnectorOffset[P](format: String, positions: PositionFormat[P])
    extends OffsetFormat[ConnectorPosition[P]](format, positions.version) {

  override protected def write(at: ConnectorPosition[P], fields: ObjectNode): Unit = {
    fields.put("rows", at.rows)
    fields.set[JsonNode]("position", positions.write(at.position)): Unit
    if (at.tails.nonEmpty) {
      val tails = fields.putArray("tails")
      at.tails.foreach(tail => tails.add(positions.write(tail)))
    }
    at.journal.foreach(Segment.writeAll(_, fields))
  }

  override protected def read(version: Int, fields: ObjectNode): ConnectorPosition[P] = {
    require(fields.hasNonNull("position"), "it has no \"position\"")
    ConnectorPosition(
      count(fields, "rows"),
      positions.read(version, fields.get("position")),
      Option.when(fields.has("segments"))(Segment.readAll(fields)),
      fields.path("tails").elements().asScala.map(positions.read(version, _)).toVector
    )
  }
}
