package io.epochal.cdc.value

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.TextNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.kit.database.PostgresType

/** The types of a table's columns as JSON, as far as [[RowJson]] needs them. They stand beside the table's changes, since the
  * catalog may have changed when these are read.
  *
  * {{{
  *   ["int4", {"of": "text", "by": ","}, {"fields": {"x": "int4", "y": "text"}}]
  * }}}
  */
private[cdc] object TypeText {
  private val mapper = new ObjectMapper

  /** @param types
    *   None: the catalog no longer has it, and its values are texts
    */
  def write(types: Seq[Option[PostgresType]]): String = {
    val array = mapper.createArrayNode()
    types.foreach(kind => array.add(kind.fold[JsonNode](TextNode.valueOf("text"))(node)))
    mapper.writeValueAsString(array)
  }

  def read(text: String): Seq[PostgresType] =
    if (text.isEmpty) Nil else mapper.readTree(text).elements.asScala.map(kind).toVector

  private def node(kind: PostgresType): JsonNode = kind.shape match {
    case PostgresType.Elements(of, delimiter) =>
      mapper.createObjectNode().put("by", delimiter.toString).set[JsonNode]("of", node(of))
    case PostgresType.Fields(fields) =>
      val parts = mapper.createObjectNode()
      fields.foreach { case (name, of) => parts.set[JsonNode](name, node(of)) }
      mapper.createObjectNode().set[JsonNode]("fields", parts)
    case PostgresType.Plain => TextNode.valueOf(kind.name)
    case _                  => TextNode.valueOf("text")
  }

  private def kind(node: JsonNode): PostgresType =
    if (node.has("of")) typeOf("", PostgresType.Elements(kind(node.get("of")), node.get("by").textValue.head))
    else if (node.has("fields"))
      typeOf(
        "",
        PostgresType.Fields(node.get("fields").properties.asScala.toSeq.map(of => of.getKey -> kind(of.getValue))))
    else typeOf(node.textValue, PostgresType.Plain)

  private def typeOf(name: String, shape: PostgresType.Shape) = PostgresType(name, -1, name, shape)
}
