package io.epochal.rest.source.paging

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{EpochalException, Redaction}

/** Reads the rows of `partitionParams`. */
private[rest] object ParamsTable {

  private val Name = "[A-Za-z_][A-Za-z0-9_]*"

  /** What tells the page in a request's body. */
  private val Taken = Set("offset", "limit", "page", "pageSize", "cursor", "windowFrom", "windowTo")
  private val mapper = new ObjectMapper()

  /** One row or more, no two alike, all with the same names. */
  def read(text: String): Either[EpochalException, Seq[Map[String, String]]] =
    for {
      rows <- Try(mapper.readTree(text)).toOption
        .collect { case array: ArrayNode if !array.isEmpty => array.elements().asScala.toVector }
        .toRight(invalid(text, "a JSON array of one or more objects"))
      table <- rows.foldLeft[Either[EpochalException, Vector[Map[String, String]]]](Right(Vector.empty)) { (read, node) =>
        read.flatMap(before =>
          row(node)
            .toRight(
              invalid(node.toString, "an array of objects whose values are strings without ${, numbers, true or false"))
            .map(before :+ _))
      }
      names = table.head.keySet
      _ <- Either.cond(table.forall(_.keySet == names), (), invalid(text, "an array of objects with the same names"))
      _ <- Either.cond(table.distinct.size == table.size, (), invalid(text, "an array whose objects are all different"))
      _ <- Either.cond(
        names.nonEmpty && names.forall(name => name.matches(Name) && !Taken(name)),
        (),
        invalid(
          text,
          s"an array of objects whose names have letters, digits and _, and are none of ${Taken.toSeq.sorted.mkString(", ")}"))
    } yield table

  /** Names and values of an object; None where they are not of use. */
  def row(node: JsonNode): Option[Map[String, String]] = node match {
    case fields: ObjectNode if fields.elements().asScala.forall(usable) =>
      Some(fields.properties().asScala.map(field => field.getKey -> field.getValue.asText).toMap)
    case _ => None
  }

  private def usable(value: JsonNode): Boolean =
    value.isNumber || value.isBoolean || value.isTextual && !value.textValue.contains("${")

  private def invalid(text: String, expected: String): EpochalException =
    RestOptions.group.invalid(FanOut.PartitionParams, Redaction.text(text.take(200)), expected)
}
