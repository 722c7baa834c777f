package io.epochal.cdc

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.cfg.JsonNodeFeature
import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}

/** The tables that generic changes, as JSON, lead to. */
private object ReplayedChanges {
  private val json = new ObjectMapper()
    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
    .configure(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES, false)

  def read(text: String): ObjectNode = json.readTree(text).asInstanceOf[ObjectNode]

  /** Rows before a column was added lack it. */
  def withoutNulls(row: ObjectNode): Map[String, String] =
    row.properties.asScala.filterNot(_.getValue.isNull).map(field => field.getKey -> field.getValue.toString).toMap

  /** The rows of each table, by key, that generic changes leave. */
  def replayed(changes: Seq[ObjectNode]): Map[String, Map[String, ObjectNode]] = {
    // The row that was deleted last: one with a new key has its values.
    var deleted = Option.empty[ObjectNode]
    changes.foldLeft(Map.empty[String, Map[String, ObjectNode]]) { (tables, change) =>
      val name = change.get("_table").textValue
      val rows = tables.getOrElse(name, Map.empty)
      def image(column: String) = read(change.get(column).textValue)
      def key(row: ObjectNode) = row.get("id").toString
      tables.updated(
        name,
        change.get("_change_type").textValue match {
          case "truncate" => Map.empty
          case "delete" =>
            deleted = rows.get(key(image("before")))
            rows - key(image("before"))
          case kind =>
            val after = image("after")
            val unchanged = change.path("_unchanged_columns").elements.asScala.map(_.textValue).toSeq
            val before = if (kind == "insert") deleted else rows.get(key(after))
            unchanged.foreach(column => after.set[ObjectNode](column, before.get.path(column)))
            rows.updated(key(after), after)
        }
      )
    }
  }
}
