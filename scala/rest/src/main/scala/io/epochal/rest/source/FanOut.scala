package io.epochal.rest.source

import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.hash.Sha256
import io.epochal.core.option.OptionType
import io.epochal.kit.access.{DriverAccess, SecretOptionList}
import io.epochal.rest.http.Endpoint

/** A table of parameters: each row is a member, a sequence of requests with its own options and position. Its names and
  * values identify it, in the offsets too, so that a replay can read a member that has left the table.
  *
  * @param raw
  *   the options as given, with placeholders such as `${repo}`
  * @param table
  *   the rows, in their order
  */
final case class FanOut private[source] (raw: Map[String, String], table: Seq[Map[String, String]]) {

  def member(params: Map[String, String], template: RestOptions): RestOptions = {
    val options = RestOptions.single(Placeholders.fillOptions(raw, params)).fold(throw _, identity)
    val list = options.requests.copy(rules = template.rules, params = params).within(template.requests.http.query)
    options.copy(requests = list.as(s"${template.source} ${FanOut.memberName(params)}"), numPartitions = None)
  }

  def first(template: RestOptions): RestOptions = member(table.head, template)

  override def toString: String = s"FanOut(${table.map(FanOut.memberName).mkString(", ")})"
}

private[rest] object FanOut extends SecretOptionList {

  val PartitionParams =
    option("partitionParams", OptionType.string, sample = Some("""[{"repo": "a"}, {"repo": "b"}]"""))(
      "JSON array of objects with the same names, or the path of a file with one of them in each line: each is a sequence of requests, with its values for ${name} in url, params.* and requestBody. They appear in the offsets: no secrets. Unset: one sequence.")

  /** The options of the template, with the table in them; None without one. */
  def read(raw: Map[String, String]): Option[Either[EpochalException, RestOptions]] =
    raw.collectFirst { case (name, text) if name.equalsIgnoreCase(PartitionParams.name) => text }.map { text =>
      for {
        table <- rows(text)
        names = table.head.keySet
        _ <- Placeholders.check(raw, "{option:partitionParams}", names, "Give each row a value for it")
        template <- RestOptions.single(Placeholders.fillOptions(raw, names.map(name => name -> s"{$name}").toMap))
        _ <- ensure(!template.restarts)(
          RestOptions.group.conflict(
            "{option:partitionParams}, {option:onDrift=restart}",
            "Leave {option:onDrift=restart} out: one list of several cannot be read again alone."))
        _ <- table.iterator
          .map(row => RestOptions.single(Placeholders.fillOptions(raw, row)))
          .find(_.isLeft)
          .getOrElse(Right(()))
        options <- Lineage.withColumns(template.copy(fanOut = Some(FanOut(raw, table))), names.toSeq.sorted)
      } yield options
    }

  /** A member's name in messages. */
  def memberName(params: Map[String, String]): String =
    params.toSeq.sorted.map { case (name, value) => s"$name=$value" }.mkString("[", ", ", "]")

  /** The directory of a member's journal. */
  def directory(params: Map[String, String]): String =
    Sha256.hex(params.toSeq.sorted.map(Endpoint.parameter).mkString("&"), 16)

  import Placeholders.{Name, Reserved}
  private val mapper = new ObjectMapper()

  /** The rows of the table: one or more distinct ones, all with the same names. */
  private def rows(text: String): Either[EpochalException, Seq[Map[String, String]]] =
    for {
      nodes <- if (text.matches("(?s)\\s*[\\[{].*")) Right(array(text)) else lines(text)
      _ <- ensure(nodes.nonEmpty)(
        invalid(text, "a JSON array of one or more objects, or the path of a file with an object in each line"))
      (wrong, table) = nodes.partitionMap(node => row(node).toRight(node))
      _ <- wrong.headOption
        .map(node =>
          invalid(node.toString, "an array of objects whose values are strings without ${, numbers, true or false"))
        .toLeft(())
      names = table.head.keySet
      _ <- ensure(table.forall(_.keySet == names))(invalid(text, "an array of objects with the same names"))
      _ <- ensure(table.distinct.size == table.size)(invalid(text, "an array whose objects are all different"))
      _ <- ensure(names.nonEmpty && names.forall(name => name.matches(Name) && !Reserved(name)))(invalid(
        text,
        s"an array of objects whose names have letters, digits and _, and are none of ${Reserved.toSeq.sorted.mkString(", ")}"))
    } yield table

  private def array(text: String): Seq[JsonNode] = Try(mapper.readTree(text)).toOption
    .collect { case array: ArrayNode => array.elements().asScala.toVector }
    .getOrElse(Nil)

  /** The lines of a file; none if it cannot be read, or one is not JSON. */
  private def lines(path: String): Either[EpochalException, Seq[JsonNode]] = DriverAccess.checked { access =>
    Try {
      val file = access.file(PartitionParams.name, path.trim)
      // A pipe has no end.
      if (!Files.isRegularFile(file)) Nil
      else Files.readString(file).linesIterator.filterNot(_.isBlank).map(mapper.readTree(_)).toVector
    }.fold({ case error: EpochalException => throw error; case _ => Nil }, identity)
  }

  /** Names and values of an object; None if they are unusable. */
  def row(node: JsonNode): Option[Map[String, String]] = node match {
    case fields: ObjectNode if fields.elements().asScala.forall(usable) =>
      Some(fields.properties().asScala.map(field => field.getKey -> field.getValue.asText).toMap)
    case _ => None
  }

  private def usable(value: JsonNode): Boolean =
    value.isNumber || value.isBoolean || value.isTextual && !value.textValue.contains("${")

  private def invalid(text: String, requirement: String): EpochalException =
    RestOptions.group.invalid(PartitionParams, Redaction.text(text.take(200)), requirement)
}
