package io.epochal.rest.sink

import java.util.Locale

import com.fasterxml.jackson.core.JsonPointer
import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.json.Json
import io.epochal.kit.record.Body
import io.epochal.rest.http.request.{HttpFailure, HttpStatuses, ResponseHead}

/** What became of a row. */
sealed private[rest] trait RowResult

private[rest] object RowResult {
  case object Accepted extends RowResult

  /** It can be accepted when it is sent again. */
  final case class Again(reason: String) extends RowResult
  final case class Refused(reason: String) extends RowResult
}

/** Reads what a response tells of each row. Belongs to one task.
  *
  * @param retried
  *   statuses of rows that are to be sent again
  */
final private[rest] class ResultReader(settings: ResultSettings, retried: HttpStatuses, place: String) {
  import RowResult._

  private val mapper = new ObjectMapper(Json.trees)
  private val array = JsonPointer.compile(settings.array)
  private val status = JsonPointer.compile(settings.status)
  private val reason = settings.reason.map(JsonPointer.compile)

  /** @param rows
    *   how many were sent
    * @return
    *   what became of each, in their order
    * @throws EpochalException
    *   ROW_RESULTS_INVALID
    * @throws JsonProcessingException
    *   the body is no JSON
    */
  def read(response: ResponseHead, body: Body, rows: Int): Seq[RowResult] =
    if (body.length == 0) accepted(rows)
    else {
      val root = mapper.readTree(body.bytes, 0, body.length)
      val found = if (root == null) MissingNode.getInstance else root.at(array)
      if (!found.isArray)
        throw invalid(
          rows,
          s"at '${settings.array}' it has ${describe(found)}, not an array; its status is ${response.status}")
      if (found.size != rows) throw invalid(rows, s"the array at '${settings.array}' has length ${found.size}")
      (0 until rows).map(i => result(found.get(i), i, rows))
    }

  private def accepted(rows: Int): Seq[RowResult] = Seq.fill(rows)(Accepted)

  private def result(entry: JsonNode, index: Int, rows: Int): RowResult = {
    val value = entry.at(status)
    val code = Option.when(value.isIntegralNumber || value.isTextual)(value.asText).flatMap(_.toIntOption)
    if (value.isMissingNode || value.isNull || value.isContainerNode)
      throw invalid(rows, s"entry $index has ${describe(value)} at '${settings.status}'")
    else if (isSuccess(value, code)) Accepted
    else if (code.exists(retried.contains)) Again(why(entry, value))
    else if (code.isDefined || value.isBoolean || settings.success.nonEmpty) Refused(why(entry, value))
    else
      throw invalid(
        rows,
        s"entry $index has '${HttpFailure.shown(value.asText)}' at '${settings.status}', which is neither a status nor true or false: list the values that mean success in resultSuccess")
  }

  private def isSuccess(value: JsonNode, code: Option[Int]): Boolean =
    if (settings.success.nonEmpty) settings.success(value.asText)
    else code.fold(value.isBoolean && value.booleanValue)(n => n >= 200 && n < 300)

  private def why(entry: JsonNode, value: JsonNode): String = {
    val text = reason.map(entry.at(_)).filterNot(node => node.isMissingNode || node.isNull).getOrElse(entry)
    s"${HttpFailure.shown(value.asText)}: ${HttpFailure.shown(if (text.isTextual) text.asText else text.toString)}"
  }

  private def describe(node: JsonNode): String =
    if (node.isMissingNode) "nothing" else node.getNodeType.toString.toLowerCase(Locale.ROOT)

  private def invalid(rows: Int, problem: String): EpochalException =
    Conditions.RowResultsInvalid("url" -> place, "rows" -> rows, "reason" -> problem)
}
