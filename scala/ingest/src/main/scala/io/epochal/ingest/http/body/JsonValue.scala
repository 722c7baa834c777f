package io.epochal.ingest.http.body

import scala.util.Using

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException}

import io.epochal.kit.json.Json

/** JSON values that [[io.epochal.kit.json.JsonScan]] doubts: rare, or wrong. */
private[body] object JsonValue {

  /** @return
    *   the byte behind the value that begins at `from`
    * @throws JsonProcessingException
    *   there is none
    */
  def end(bytes: Array[Byte], from: Int, until: Int): Int =
    Using.resource(Json.factory.createParser(bytes, from, until - from)) { parser =>
      if (parser.nextToken() == null) throw new NoValue(parser)
      parser.skipChildren(): Unit
      parser.finishToken()
      from + parser.currentLocation.getByteOffset.toInt
    }

  /** @param from
    *   where the text began that the error is about
    */
  def malformed(error: JsonProcessingException, record: Int, from: Int): Refusal = {
    val place = Option(error.getLocation).map(_.getByteOffset).filter(_ >= 0)
    val problem = String.valueOf(error.getOriginalMessage).take(MaxProblem)
    Refusal.malformed(s"the record is not JSON: $problem", Some(record), Some(from + place.getOrElse(0L).toInt))
  }

  private val MaxProblem = 300

  final private class NoValue(parser: JsonParser)
      extends JsonProcessingException("there is no value", parser.currentLocation)
}
