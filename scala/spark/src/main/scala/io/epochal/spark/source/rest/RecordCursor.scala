package io.epochal.spark.source.rest

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.spark.http.{BodyBuffer, Endpoint, Json}

/** Steps through the records of one answer, in its bytes. An answer that is absent has none.
  *
  * @param pointer
  *   JSON Pointer to the array
  * @throws EpochalException
  *   RECORDS_NOT_FOUND, where there is no array
  * @throws com.fasterxml.jackson.core.JsonProcessingException
  *   where the bytes are no JSON; any step may find that
  */
final private[rest] class RecordCursor(buffer: BodyBuffer, pointer: String, endpoint: Endpoint) {

  /** Stands at the first token of a record after each `next()` that gives true. Whoever reads the record leaves it at the
    * record's last token, or skips its children.
    */
  val parser: JsonParser = Json.factory.createParser(buffer.bytes, 0, buffer.length)
  private var ended = buffer.absent
  if (!ended) descend(RecordCursor.segments(pointer))

  /** Moves to the next record, if there is one. */
  def next(): Boolean = {
    if (!ended) ended = parser.nextToken() == JsonToken.END_ARRAY
    !ended
  }

  /** Passes over at most `n` records.
    *
    * @return
    *   how many there were
    */
  def skip(n: Long): Long = {
    var skipped = 0L
    while (skipped < n && next()) {
      parser.skipChildren()
      skipped += 1
    }
    skipped
  }

  /** Reads on to the end of the answer, as a check: there must be whole JSON, and nothing after it. */
  def finish(): Unit = while (parser.nextToken() != null) {}

  @scala.annotation.tailrec
  private def descend(segments: List[String]): Unit = {
    val token = parser.nextToken()
    segments match {
      case Nil if token == JsonToken.START_ARRAY           => ()
      case name :: rest if token == JsonToken.START_OBJECT => field(name); descend(rest)
      case index :: rest if token == JsonToken.START_ARRAY && index.forall(_.isDigit) =>
        val n = index.toLong
        val found = skip(n)
        if (found < n) throw notFound(s"an array of $found")
        descend(rest)
      case _ if token == null => throw new JsonParseException(parser, "the body is empty")
      case _                  => throw notFound(describe(token))
    }
  }

  /** Stops at the name: its value is the next token. */
  private def field(name: String): Unit = {
    var seen = Vector.empty[String]
    while (parser.nextToken() == JsonToken.FIELD_NAME && parser.currentName != name) {
      if (seen.size < RecordCursor.NamesShown) seen = seen :+ parser.currentName
      parser.nextToken()
      parser.skipChildren()
    }
    if (parser.currentToken != JsonToken.FIELD_NAME) throw notFound(s"an object with ${seen.mkString(", ")}")
  }

  private def describe(token: JsonToken): String =
    if (token == JsonToken.START_OBJECT) s"an object with ${firstNames().mkString(", ")}" else Json.describe(token)

  private def firstNames(): Seq[String] =
    Iterator
      .continually(parser.nextToken())
      .takeWhile(_ == JsonToken.FIELD_NAME)
      .take(RecordCursor.NamesShown)
      .map { _ =>
        val name = parser.currentName
        parser.nextToken()
        parser.skipChildren()
        name
      }
      .toVector

  private def notFound(found: String): EpochalException =
    Conditions.RecordsNotFound("url" -> endpoint, "pointer" -> pointer, "found" -> found)
}

private[rest] object RecordCursor {
  private val NamesShown = 12

  /** Counts the records of an answer, and reads it to the end. */
  def count(buffer: BodyBuffer, pointer: String, endpoint: Endpoint): Long = {
    val cursor = new RecordCursor(buffer, pointer, endpoint)
    val records = cursor.skip(Long.MaxValue)
    cursor.finish()
    records
  }

  /** RFC 6901: segments between slashes, where ~1 is a slash and ~0 a tilde. */
  private def segments(pointer: String): List[String] =
    if (pointer.isEmpty) Nil
    else pointer.substring(1).split("/", -1).toList.map(_.replace("~1", "/").replace("~0", "~"))
}
