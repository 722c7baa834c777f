package io.epochal.spark.source.rest

import com.fasterxml.jackson.core.json.JsonReadFeature
import com.fasterxml.jackson.core.{
  JsonFactory,
  JsonFactoryBuilder,
  JsonParseException,
  JsonParser,
  JsonProcessingException,
  JsonToken,
  StreamReadConstraints,
  StreamReadFeature
}

import io.epochal.core.error.{Conditions, EpochalException}

/** Steps through the records of one answer, in its bytes.
  *
  * @param pointer
  *   JSON Pointer to the array
  * @throws EpochalException
  *   RECORDS_NOT_FOUND, where there is no array
  * @throws com.fasterxml.jackson.core.JsonProcessingException
  *   where the bytes are no JSON; any step may find that
  */
final private[rest] class RecordCursor(buffer: PageBuffer, pointer: String, endpoint: Endpoint) {

  /** Stands at the first token of a record after each `next()` that gives true. Whoever reads the record leaves it at the
    * record's last token, or skips its children.
    */
  val parser: JsonParser = Json.factory.createParser(buffer.bytes, 0, buffer.length)
  private var ended = false
  descend(RecordCursor.segments(pointer))

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
  def count(buffer: PageBuffer, pointer: String, endpoint: Endpoint): Long = {
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

/** The one JSON factory: it remembers the field names that it has met. */
private[rest] object Json {

  // The size of an answer is limited where it is received; the source in locations is what JacksonParser reads strings by.
  val factory: JsonFactory = new JsonFactoryBuilder()
    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
    .enable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
    .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
    .streamReadConstraints(StreamReadConstraints.builder().maxStringLength(Int.MaxValue).build())
    .build()

  /** What a value is. */
  def describe(token: JsonToken): String = token match {
    case JsonToken.START_OBJECT                       => "an object"
    case JsonToken.START_ARRAY                        => "an array"
    case JsonToken.VALUE_STRING                       => "a string"
    case JsonToken.VALUE_NULL                         => "null"
    case JsonToken.VALUE_TRUE | JsonToken.VALUE_FALSE => "a boolean"
    case _                                            => "a number"
  }

  /** What is wrong, without the text around it. */
  def problem(error: JsonProcessingException): String =
    s"${error.getOriginalMessage}, at byte ${Option(error.getLocation).fold(-1L)(_.getByteOffset)}"
}
