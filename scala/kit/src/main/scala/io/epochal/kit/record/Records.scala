package io.epochal.kit.record

import com.fasterxml.jackson.core.{JsonParseException, JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.kit.json.Json
import io.epochal.kit.spark.Examined

/** Iterates over the records of a body, or of a part of one. Each record is taken by one of `row`, `pass` and `examine`;
  * `examine` may also follow `row`.
  *
  * If the bytes are not in the declared format, any step may throw a [[com.fasterxml.jackson.core.JsonProcessingException]]:
  * the body is truncated, or is something else.
  */
private[epochal] trait Records {

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Skips the record. */
  def pass(): Unit = ()

  /** The record as a row.
    *
    * @throws Exception
    *   of many classes, if it does not fit
    */
  def row(columns: RecordColumns): InternalRow

  /** The values of the record that fit, and a description of those that do not. */
  def examine(columns: RecordColumns): Examined = columns.json.examine(bytes)

  /** The record's bytes, after it was taken. */
  def bytes: Array[Byte]

  /** The number of the record's bytes. */
  def size: Int = bytes.length

  /** Reads to the end of the body, as a check. */
  def finish(): Unit = ()

  /** Skips at most `n` records.
    *
    * @return
    *   the number of skipped records
    */
  final def skip(n: Long): Long = {
    var skipped = 0L
    while (skipped < n && next()) {
      pass()
      skipped += 1
    }
    skipped
  }
}

/** The records of an absent body: none. */
private[epochal] object NoRecords extends Records {
  override def next(): Boolean = false
  override def row(columns: RecordColumns): InternalRow = throw new NoSuchElementException
  override def bytes: Array[Byte] = Array.emptyByteArray
}

/** The records of a body that is read piece by piece.
  *
  * @param pieces
  *   of whole records; each is invalid once the next is taken
  * @param open
  *   returns a piece's records, positioned before the first
  */
final private[record] class PiecedRecords(pieces: Iterator[Piece], open: Piece => Records) extends Records {
  private var current: Records = NoRecords

  @scala.annotation.tailrec
  override def next(): Boolean =
    if (current.next()) true
    else if (pieces.hasNext) {
      current = open(pieces.next())
      next()
    } else false

  override def pass(): Unit = current.pass()

  override def row(columns: RecordColumns): InternalRow = current.row(columns)

  override def examine(columns: RecordColumns): Examined = current.examine(columns)

  override def bytes: Array[Byte] = current.bytes

  override def size: Int = current.size

  override def finish(): Unit = {
    val _ = skip(Long.MaxValue)
  }
}

/** The records of a JSON array, with their positions. */
abstract private[epochal] class ArrayRecords extends Records {

  /** The byte after the opening bracket. */
  def begin: Int

  /** The first byte of the record. */
  def start: Int

  /** The byte of the closing bracket, once `next()` has returned false. */
  def end: Int

  /** Reads the JSON around the array, with the array empty, once `next()` has returned false. */
  def around[A](read: JsonParser => A): A
}

/** The position of consecutive records in a body.
  *
  * @param records
  *   their number
  * @param from
  *   the first byte of the first record, or of white space before it
  * @param until
  *   the byte after the last record, or after white space behind it
  */
final private[epochal] case class RecordSpan(records: Int, from: Int, until: Int)

/** The positions of an array's records.
  *
  * @param count
  *   the number of records, including those in no span
  * @param ends
  *   where the first record begins, and the last; None: there are no records
  */
final private[record] case class ArraySpans(spans: Vector[RecordSpan], count: Int, ends: Option[(Int, Int)])

private[record] object ArraySpans {

  /** Skips all records of an array.
    *
    * @param spanBytes
    *   a span ends with the record that makes it at least this large
    * @param skip
    *   number of records at the front that are in no span
    */
  def of(records: ArrayRecords, spanBytes: Int, skip: Long): ArraySpans = {
    val spans = Vector.newBuilder[RecordSpan]
    var count = 0
    var first = -1
    var last = -1
    var inSpan = 0
    var from = 0
    var until = 0
    while (records.next()) {
      records.pass()
      last = records.start
      if (count == 0) first = last
      if (count >= skip) {
        if (inSpan == 0) from = last
        until = last + records.size
        inSpan += 1
        if (until - from >= spanBytes) {
          spans += RecordSpan(inSpan, from, until)
          inSpan = 0
        }
      }
      count += 1
    }
    if (inSpan > 0) spans += RecordSpan(inSpan, from, until)
    ArraySpans(spans.result(), count, Option.when(count > 0)((first, last)))
  }

  /** Each span as a separate array. If brackets surround it, the bytes are the body's; otherwise a copy that is valid until the
    * next one is taken.
    */
  def blocks(body: ByteSource, spans: Seq[RecordSpan]): Iterator[RecordBlock] = {
    var array = Array.emptyByteArray
    spans.iterator.map { span =>
      body match {
        case piece: Piece if piece.bytes(span.from - 1) == '[' && piece.bytes(span.until) == ']' =>
          RecordBlock(span.records, piece.bytes, span.from - 1, span.until + 1)
        case _ =>
          val length = span.until - span.from + 2
          if (array.length < length) array = new Array[Byte](length)
          array(0) = '['
          body.read(span.from, array, 1, length - 2)
          array(length - 1) = ']'
          RecordBlock(span.records, array, 0, length)
      }
    }
  }
}

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
        val found = skip(n)
        if (found < n) throw notFound(at, s"an array with ${Plural.of(found, "element")}")
        descend(rest, s"$at/$index", inArray = true)
      case _ if token == null => throw new JsonParseException(parser, "the body is empty")
      case _ if token == JsonToken.VALUE_NULL =>
        leaveOut(format.mayMiss && !inArray || nullIsEmpty && segments.isEmpty, at, Json.describe(token))
      case _ if token == JsonToken.START_OBJECT => throw notFound(at, fields(namesBefore("", TokenRecords.NamesShown)))
      case _                                    => throw notFound(at, Json.describe(token))
    }
  }

  /** Reads a body without the array to its end: a truncated body is a different error. */
  private def leaveOut(allowed: Boolean, at: String, found: String): Unit =
    if (allowed) {
      ended = true
      finish()
    } else throw notFound(at, found)

  /** Stops at the name, whose value is the next token, or at the end of the object.
    *
    * @return
    *   the first names before it
    */
  private def namesBefore(name: String, most: Int = Int.MaxValue): Seq[String] = {
    var seen = Vector.empty[String]
    var passed = 0
    other = None
    while (passed < most && parser.nextToken() == JsonToken.FIELD_NAME && parser.currentName != name) {
      if (passed < TokenRecords.NamesShown) seen = seen :+ parser.currentName
      passed += 1
      if (parser.nextToken() == JsonToken.START_ARRAY && other.isEmpty) passArray()
      else parser.skipChildren()
    }
    seen
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
    val found = s"${if (at.isEmpty) "the response" else s"'$at'"} is $what"
    val likely = other.filter(TokenRecords.Plain.matches).getOrElse("/data/items")
    Conditions.RecordsNotFound("url" -> place, "pointer" -> format.pointer, "found" -> found, "array" -> likely)
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

/** A record that is not an object. */
final private[record] class NoObjectException extends RuntimeException(null, null, false, false)
