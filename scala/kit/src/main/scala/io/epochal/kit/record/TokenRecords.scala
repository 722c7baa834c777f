package io.epochal.kit.record

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.kit.json.Json

/** Iterates over the records of an array, parsed by Jackson.
  *
  * @param format
  *   the position of the array, and whether it may be missing
  * @param nullIsEmpty
  *   whether null in its place is an empty array
  * @throws EpochalException
  *   RECORDS_NOT_FOUND, if there is no array
  * @throws com.fasterxml.jackson.core.JsonProcessingException
  *   from any step, if the bytes are not JSON
  */
final private[epochal] class TokenRecords(
    body: ByteSource,
    format: RecordFormat.Json,
    place: String,
    nullIsEmpty: Boolean = false
) extends ArrayRecords {

  private val parser = body.parser(0)
  private var ended = false
  private var first = 0
  private var behind = 0
  private var other = Option.empty[String] // A pointer to an array of objects beside the missing one.
  descend(TokenRecords.segments(format.pointer))
  private val array = parser.getParsingContext

  /** Whether the array is missing. */
  val absent: Boolean = ended

  override val begin: Int = if (absent) 0 else offset()

  override def start: Int = first

  override def end: Int = behind

  override def next(): Boolean = {
    if (!ended) {
      ended = parser.nextToken() == JsonToken.END_ARRAY
      if (ended) behind = offset() - 1 else first = parser.currentTokenLocation().getByteOffset.toInt
    }
    !ended
  }

  override def pass(): Unit = {
    val _ = parser.skipChildren()
  }

  override def row(columns: RecordColumns): InternalRow =
    if (parser.currentToken == JsonToken.START_OBJECT) columns.json.row(parser) else throw new NoObjectException

  override def bytes: Array[Byte] = body.slice(first, recordEnd())

  override def size: Int = recordEnd() - first

  override def finish(): Unit = while (parser.nextToken() != null) {}

  override def around[A](read: JsonParser => A): A = {
    finish()
    read(body.parserWithout(begin, end))
  }

  private def recordEnd(): Int = {
    while (parser.getParsingContext ne array) parser.nextToken()
    parser.finishToken()
    offset()
  }

  private def offset(): Int = parser.currentLocation().getByteOffset.toInt

  @scala.annotation.tailrec
  private def descend(segments: List[String], at: String = "", inArray: Boolean = false): Unit = {
    val token = parser.nextToken()
    segments match {
      case Nil if token == JsonToken.START_ARRAY => ()
      case name :: rest if token == JsonToken.START_OBJECT =>
        val before = namesBefore(name)
        if (parser.currentToken == JsonToken.FIELD_NAME) descend(rest, s"$at/$name", inArray)
        else leaveOut(format.mayMiss && !inArray, at, fields(before))
      case index :: rest if token == JsonToken.START_ARRAY && index.forall(_.isDigit) =>
        val n = index.toLong
        val count = skip(n)
        if (count < n) throw notFound(at, s"an array with ${Plural.of(count, "element")}")
        descend(rest, s"$at/$index", inArray = true)
      case _ if token == null => throw new JsonParseException(parser, "the body is empty")
      case _ if token == JsonToken.VALUE_NULL =>
        leaveOut(format.mayMiss && !inArray || nullIsEmpty && segments.isEmpty, at, Json.describe(token))
      case _ if token == JsonToken.START_OBJECT => throw notFound(at, fields(namesBefore("", TokenRecords.NamesShown)))
      case _                                    => throw notFound(at, Json.describe(token))
    }
  }

  /** Reads a body without the array to its end: a truncated body is a different error. */
  private def leaveOut(allowed: Boolean, at: String, kind: String): Unit =
    if (allowed) {
      ended = true
      finish()
    } else throw notFound(at, kind)

  /** Stops at the name, whose value is the next token, or at the end of the object.
    *
    * @return
    *   the first names before it
    */
  private def namesBefore(name: String, most: Int = Int.MaxValue): Seq[String] = {
    var names = Vector.empty[String]
    var count = 0
    other = None
    while (count < most && parser.nextToken() == JsonToken.FIELD_NAME && parser.currentName != name) {
      if (count < TokenRecords.NamesShown) names = names :+ parser.currentName
      count += 1
      if (parser.nextToken() == JsonToken.START_ARRAY && other.isEmpty) passArray()
      else parser.skipChildren()
    }
    names
  }

  /** Stops at the end of an array, and keeps its place if it has objects. */
  private def passArray(): Unit = {
    val place = parser.getParsingContext.pathAsPointer.toString
    if (parser.nextToken() == JsonToken.START_OBJECT) other = Some(place)
    while (parser.currentToken != JsonToken.END_ARRAY) {
      parser.skipChildren()
      parser.nextToken()
    }
  }

  private def fields(names: Seq[String]): String =
    if (names.isEmpty) "an empty object" else s"an object with ${names.mkString(", ")}"

  private def notFound(at: String, what: String): EpochalException = {
    val problem = s"${if (at.isEmpty) "the response" else s"'$at'"} is $what"
    val likely = other.filter(TokenRecords.Plain.matches).getOrElse("/data/items")
    Conditions.RecordsNotFound("url" -> place, "pointer" -> format.pointer, "found" -> problem, "array" -> likely)
  }
}

private[record] object TokenRecords {
  private val NamesShown = 12

  /** A JSON Pointer that can be shown as an option's value. */
  private val Plain = "[\\w/.@~-]{1,100}".r

  /** RFC 6901: segments between slashes, where ~1 is a slash and ~0 a tilde. */
  def segments(pointer: String): List[String] =
    if (pointer.isEmpty) Nil
    else pointer.substring(1).split("/", -1).toList.map(_.replace("~1", "/").replace("~0", "~"))
}

final private[record] class NoObjectException extends RuntimeException(null, null, false, false)
