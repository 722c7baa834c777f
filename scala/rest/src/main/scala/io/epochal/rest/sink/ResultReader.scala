package io.epochal.rest.sink

import java.util.Locale

import com.fasterxml.jackson.core.JsonPointer
import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.json.Json
import io.epochal.kit.record.Body
import io.epochal.rest.http._

/** Reads the result of each row in a response. Belongs to one task.
  *
  * @param retryStatuses
  *   statuses of rows that are resent
  */
final private[rest] class ResultReader(settings: ResultSettings, retryStatuses: HttpStatuses, place: String) {
  import RowResult._

  private val mapper = new ObjectMapper(Json.trees)
  private val array = JsonPointer.compile(settings.array)
  private val status = new ResultPointer(settings.status)
  private val reason = settings.reason.map(new ResultPointer(_))

  /** @param deletes
    *   of each row sent, whether it deletes
    * @return
    *   the rows' results, in their order
    * @throws EpochalException
    *   ROW_RESULTS_INVALID
    * @throws JsonProcessingException
    *   if the body is not JSON
    */
  def read(response: ResponseHead, body: Body, deletes: Seq[Boolean]): Seq[RowResult] =
    if (body.length == 0) acceptAll(deletes.size)
    else {
      val rows = deletes.size
      val root = mapper.readTree(body.bytes, 0, body.length)
      val found = if (root == null) MissingNode.getInstance else root.at(array)
      if (!found.isArray)
        throw invalid(
          rows,
          s"at '${settings.array}' it has ${describe(found)}, not an array; its status is ${response.status}")
      if (found.size != rows) throw invalid(rows, s"the array at '${settings.array}' has length ${found.size}")
      (0 until rows).map(i => result(found.get(i), i, rows, deletes(i)))
    }

  private def acceptAll(rows: Int): Seq[RowResult] = Seq.fill(rows)(Accepted)

  private def result(entry: JsonNode, index: Int, rows: Int, deletes: Boolean): RowResult = {
    val value = status.in(entry)
    val code = Option.when(value.isIntegralNumber || value.isTextual)(value.asText).flatMap(_.toIntOption)
    if (value.isMissingNode || value.isNull || value.isContainerNode)
      throw invalid(rows, s"entry $index has ${describe(value)} at '${settings.status}'")
    else if (isSuccess(value, code) || deletes && code.exists(RowSender.Gone)) Accepted
    else if (code.exists(retryStatuses.contains)) Again(why(entry, value))
    else if (code.isDefined || value.isBoolean || settings.success.nonEmpty) Refused(why(entry, value))
    else
      throw invalid(
        rows,
        s"entry $index has '${HttpFailure.excerpt(value.asText)}' at '${settings.status}', which is neither a status nor true or false: list the values that mean success in {option:resultSuccess}")
  }

  private def isSuccess(value: JsonNode, code: Option[Int]): Boolean =
    if (settings.success.nonEmpty) settings.success(value.asText)
    else code.fold(value.isBoolean && value.booleanValue)(n => n >= 200 && n < 300)

  private def why(entry: JsonNode, value: JsonNode): String = {
    val text = reason.map(_.in(entry)).filterNot(node => node.isMissingNode || node.isNull).getOrElse(entry)
    s"${HttpFailure.excerpt(value.asText)}: ${HttpFailure.excerpt(if (text.isTextual) text.asText else text.toString)}"
  }

  private def describe(node: JsonNode): String =
    if (node.isMissingNode) "nothing" else node.getNodeType.toString.toLowerCase(Locale.ROOT)

  private def invalid(rows: Int, problem: String): EpochalException =
    Conditions.RowResultsInvalid("url" -> place, "rows" -> rows, "reason" -> problem)
}

/** A JSON Pointer in which `*` stands for the only field of an object, whatever its name. */
final private[rest] class ResultPointer(text: String) {
  private val parts = text.split("/\\*(?=/|$)", -1).toSeq.map(JsonPointer.compile)

  def in(entry: JsonNode): JsonNode = parts.tail.foldLeft(entry.at(parts.head)) { (node, rest) =>
    if (node.isObject && node.size == 1) node.elements.next().at(rest) else MissingNode.getInstance
  }
}

sealed private[rest] trait RowResult

private[rest] object RowResult {
  case object Accepted extends RowResult

  /** A transient failure. */
  final case class Again(reason: String) extends RowResult
  final case class Refused(reason: String) extends RowResult
}
