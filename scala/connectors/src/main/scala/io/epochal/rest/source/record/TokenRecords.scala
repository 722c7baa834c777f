package io.epochal.rest.source.record

import java.util.Arrays

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.kit.engine.{Examined, JsonRows}
import io.epochal.kit.json.Json
import io.epochal.rest.http.request.Endpoint

/** Steps through the records of one answer, read by Jackson.
  *
  * @param parser
  *   stands before the answer
  * @param cut
  *   the answer's bytes from one place to another
  * @param pointer
  *   JSON Pointer to the array
  * @throws EpochalException
  *   RECORDS_NOT_FOUND, where there is no array
  * @throws com.fasterxml.jackson.core.JsonProcessingException
  *   where the bytes are no JSON; any step may find that
  */
final private[rest] class TokenRecords(
    parser: JsonParser,
    cut: (Int, Int) => Array[Byte],
    pointer: String,
    endpoint: Endpoint
) extends Records[JsonRows] {

  private var ended = false
  private var first = 0
  descend(TokenRecords.segments(pointer))
  private val array = parser.getParsingContext

  /** The byte behind the array's opening bracket. */
  val begin: Int = offset()

  /** The byte at which the record begins. */
  def start: Int = first

  /** The byte behind the token that was read last. */
  def until: Int = offset()

  override def next(): Boolean = {
    if (!ended) ended = parser.nextToken() == JsonToken.END_ARRAY
    if (!ended) first = parser.currentTokenLocation().getByteOffset.toInt
    !ended
  }

  override def pass(): Unit = {
    val _ = parser.skipChildren()
  }

  override def row(rows: JsonRows): InternalRow =
    if (parser.currentToken == JsonToken.START_OBJECT) rows.row(parser) else throw new NoObjectException

  override def examine(rows: JsonRows): Examined = rows.examine(bytes)

  override def bytes: Array[Byte] = cut(first, end())

  override def size: Int = end() - first

  override def finish(): Unit = while (parser.nextToken() != null) {}

  private def end(): Int = {
    while (parser.getParsingContext ne array) parser.nextToken()
    parser.finishToken()
    offset()
  }

  private def offset(): Int = parser.currentLocation().getByteOffset.toInt

  @scala.annotation.tailrec
  private def descend(segments: List[String], place: String = ""): Unit = {
    val token = parser.nextToken()
    segments match {
      case Nil if token == JsonToken.START_ARRAY           => ()
      case name :: rest if token == JsonToken.START_OBJECT => field(name, place); descend(rest, s"$place/$name")
      case index :: rest if token == JsonToken.START_ARRAY && index.forall(_.isDigit) =>
        val n = index.toLong
        val found = skip(n)
        if (found < n) throw notFound(place, s"an array with ${Plural.of(found, "element")}")
        descend(rest, s"$place/$index")
      case _ if token == null => throw new JsonParseException(parser, "the body is empty")
      case _                  => throw notFound(place, describe(token))
    }
  }

  /** Stops at the name: its value is the next token. */
  private def field(name: String, place: String): Unit = {
    var seen = Vector.empty[String]
    while (parser.nextToken() == JsonToken.FIELD_NAME && parser.currentName != name) {
      if (seen.size < TokenRecords.NamesShown) seen = seen :+ parser.currentName
      parser.nextToken()
      parser.skipChildren()
    }
    if (parser.currentToken != JsonToken.FIELD_NAME) throw notFound(place, fields(seen))
  }

  private def describe(token: JsonToken): String =
    if (token == JsonToken.START_OBJECT) fields(firstNames()) else Json.describe(token)

  private def fields(names: Seq[String]): String =
    if (names.isEmpty) "an empty object" else s"an object with ${names.mkString(", ")}"

  private def firstNames(): Seq[String] =
    Iterator
      .continually(parser.nextToken())
      .takeWhile(_ == JsonToken.FIELD_NAME)
      .take(TokenRecords.NamesShown)
      .map { _ =>
        val name = parser.currentName
        parser.nextToken()
        parser.skipChildren()
        name
      }
      .toVector

  private def notFound(place: String, what: String): EpochalException = {
    val found = s"${if (place.isEmpty) "the response" else s"'$place'"} is $what"
    Conditions.RecordsNotFound("url" -> endpoint, "pointer" -> pointer, "found" -> found)
  }
}

private[rest] object TokenRecords {
  private val NamesShown = 12

  def of(body: Utf8Body, pointer: String, endpoint: Endpoint): TokenRecords =
    new TokenRecords(parser(body), Arrays.copyOfRange(body.bytes, _, _), pointer, endpoint)

  def parser(body: Utf8Body): JsonParser = Json.factory.createParser(body.bytes, 0, body.length)

  /** Whether a body, which is read to its end, has nothing or null where the array should be. What is something else there is no
    * array that was left out.
    */
  def missing(parser: JsonParser, pointer: String): Boolean = {
    val found = lacks(parser, segments(pointer))
    while (parser.nextToken() != null) {}
    found
  }

  @scala.annotation.tailrec
  private def lacks(parser: JsonParser, path: List[String]): Boolean = {
    val token = parser.nextToken()
    path match {
      case _ if token == JsonToken.VALUE_NULL => true
      case name :: rest if token == JsonToken.START_OBJECT =>
        while (parser.nextToken() == JsonToken.FIELD_NAME && parser.currentName != name) {
          parser.nextToken()
          parser.skipChildren()
        }
        parser.currentToken != JsonToken.FIELD_NAME || lacks(parser, rest)
      case _ => false
    }
  }

  /** RFC 6901: segments between slashes, where ~1 is a slash and ~0 a tilde. */
  private[rest] def segments(pointer: String): List[String] =
    if (pointer.isEmpty) Nil
    else pointer.substring(1).split("/", -1).toList.map(_.replace("~1", "/").replace("~0", "~"))
}

/** A record that is something else than an object. */
final private[rest] class NoObjectException extends RuntimeException(null, null, false, false)
