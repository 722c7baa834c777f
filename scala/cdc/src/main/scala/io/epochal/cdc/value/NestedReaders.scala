package io.epochal.cdc.value

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.Locale

import scala.collection.mutable

import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.unsafe.types.UTF8String
import org.postgresql.util.ByteConverter

/** Arrays of one dimension. Their lower bounds are dropped.
  *
  * Binary form:
  *
  * {{{
  *   int32 dimensions (0: it is empty), int32 flags, int32 OID of the elements' type, then int32 size and int32 lower bound of
  *   each dimension, then the elements: int32 length (-1: NULL), value
  * }}}
  */
final private class ArrayReader(element: ValueReader, delimiter: Char) extends ValueReader {
  private val literal = new Literal(delimiter, '}')
  private val found = mutable.ArrayBuffer.empty[Any]

  override def hasBinary: Boolean = element.hasBinary

  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any = {
    val dimensions = ByteConverter.int4(bytes, offset)
    if (dimensions > 1) nested()
    val values = new Array[Any](if (dimensions == 0) 0 else ByteConverter.int4(bytes, offset + 12))
    var at = offset + 20
    var i = 0
    while (i < values.length) {
      val size = ByteConverter.int4(bytes, at)
      at += 4
      if (size >= 0) {
        values(i) = element.binary(bytes, at, size)
        at += size
      }
      i += 1
    }
    ArrayData.toArrayData(values)
  }

  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    found.clear()
    literal.startArray(bytes, offset)
    while (literal.next()) {
      if (literal.isNested) nested()
      literal.read()
      found += (if (literal.isNull) null else element.text(literal.value, literal.from, literal.length))
    }
    ArrayData.toArrayData(found.toArray[Any])
  }

  private def nested(): Nothing = throw new UnreadableValue("it is an array of more than one dimension")
}

/** The text of an array or of a composite value, item by item. The text is what the server prints, so it is well-formed.
  *
  * {{{
  *   [0:2]={1,"a \"quoted\" text",NULL}        (1,"a ""quoted"" text",)
  * }}}
  */
final private class Literal(separator: Char, closing: Char) {
  private var bytes: Array[Byte] = _
  private var at = 0
  private var isFirst = true
  private var isQuoted = false

  /** The bytes of an item without quotes and escapes. */
  var value: Array[Byte] = _
  var from: Int = 0
  var length: Int = 0

  /** Skips the lower bounds. */
  def startArray(bytes: Array[Byte], offset: Int): Unit = {
    start(bytes, offset)
    while (bytes(at) != '{') at += 1
  }

  def start(bytes: Array[Byte], offset: Int): Unit = {
    this.bytes = bytes
    at = offset
    isFirst = true
  }

  /** Moves to the next item; false behind the last one. */
  def next(): Boolean = {
    // An array may be `{}`; in a composite value, `()` has an item that is NULL.
    val isEmpty = isFirst && closing == '}' && bytes(at + 1) == closing
    val closes = isEmpty || !isFirst && bytes(at) == closing
    at += (if (isEmpty) 2 else 1)
    isFirst = false
    !closes
  }

  /** Whether the item is an array within an array of several dimensions. */
  def isNested: Boolean = bytes(at) == '{'

  /** Reads the items of the nested array, then those behind it. */
  def enter(): Unit = isFirst = true

  /** Reads the item. */
  def read(): Unit = {
    isQuoted = bytes(at) == '"'
    if (isQuoted) at += 1
    from = at
    value = bytes
    var escapes = 0
    var inside = true
    while (inside) {
      val byte = bytes(at)
      if (!isQuoted) inside = byte != separator && byte != closing
      else if (byte == '\\' || byte == '"' && bytes(at + 1) == '"') {
        escapes += 1
        at += 1
      } else inside = byte != '"'
      if (inside) at += 1
    }
    length = at - from
    if (isQuoted) at += 1
    if (escapes > 0) unescape(escapes)
  }

  /** Whether the item, as an array's element, is NULL. */
  def isNull: Boolean =
    !isQuoted && length == 4 && value(from) == 'N' && value(from + 1) == 'U' && value(from + 2) == 'L' &&
      value(from + 3) == 'L'

  /** Whether the item, as a composite value's field, is NULL. */
  def isMissing: Boolean = !isQuoted && length == 0

  private def unescape(escapes: Int): Unit = {
    val plain = new Array[Byte](length - escapes)
    var i = from
    var to = 0
    while (to < plain.length) {
      if (bytes(i) == '\\' || bytes(i) == '"') i += 1
      plain(to) = bytes(i)
      to += 1
      i += 1
    }
    value = plain
    from = 0
    length = plain.length
  }
}

/** A composite value as JSON: the text of `row_to_json`. hstore, which that casts to an object, stays a text.
  *
  * NULL stands for attributes that the type has gained since the value was stored.
  */
final private class JsonReader(kind: PostgresType) extends PrintedReader {
  private val form = JsonForm(kind)
  private val out = new ByteArrayOutputStream

  override def text(bytes: Array[Byte], offset: Int, length: Int): Any = {
    out.reset()
    form.write(bytes, offset, length, out)
    UTF8String.fromBytes(out.toByteArray)
  }
}

/** Writes the text of a value as JSON. */
private trait JsonForm {
  def write(bytes: Array[Byte], offset: Int, length: Int, out: ByteArrayOutputStream): Unit
}

private object JsonForm {

  def apply(kind: PostgresType): JsonForm = kind.shape match {
    case PostgresType.Elements(of, delimiter) => new Elements(JsonForm(of), delimiter)
    case PostgresType.Fields(fields) =>
      new Fields(fields.map { case (name, of) => (quoted(name), JsonForm(of)) }.toArray)
    case PostgresType.Plain => plain(kind.name)
    case _                  => Text
  }

  private def plain(name: String): JsonForm = name match {
    case "bool"                                                     => Truth
    case "int2" | "int4" | "int8" | "float4" | "float8" | "numeric" => Number
    case "json" | "jsonb"                                           => Json
    case "timestamp" | "timestamptz"                                => Moment
    case _                                                          => Text
  }

  val Null: Array[Byte] = "null".getBytes(ISO_8859_1)
  private val True = "true".getBytes(ISO_8859_1)
  private val False = "false".getBytes(ISO_8859_1)
  private val Escaped = "\"\\\b\f\n\r\t"
  private val Letters = "\"\\bfnrt"
  private val Minutes = ":00".getBytes(ISO_8859_1)

  private val Truth: JsonForm = (bytes, offset, _, out) => out.writeBytes(if (bytes(offset) == 't') True else False)
  private val Json: JsonForm = (bytes, offset, length, out) => out.write(bytes, offset, length)
  private val Text: JsonForm = (bytes, offset, length, out) => quote(bytes, offset, length, out)

  /** NaN and the infinities are strings. */
  private val Number: JsonForm = (bytes, offset, length, out) =>
    if (Character.isDigit(bytes(offset + length - 1).toInt)) out.write(bytes, offset, length)
    else quote(bytes, offset, length, out)

  /** `2026-01-31 12:30:00+00` is `"2026-01-31T12:30:00+00:00"`. */
  private val Moment: JsonForm = (bytes, offset, length, out) => {
    out.write('"'.toInt)
    var hasTime = false
    var zone = -1
    var i = offset
    while (i < offset + length) {
      val byte = bytes(i)
      if (byte == ' ' && !hasTime) {
        out.write('T'.toInt)
        hasTime = true
      } else out.write(byte.toInt)
      if (byte == '+') zone = i + 2
      if (i == zone) out.writeBytes(Minutes)
      i += 1
    }
    out.write('"'.toInt)
  }

  final private class Elements(element: JsonForm, delimiter: Char) extends JsonForm {
    private val literal = new Literal(delimiter, '}')

    override def write(bytes: Array[Byte], offset: Int, length: Int, out: ByteArrayOutputStream): Unit = {
      literal.startArray(bytes, offset)
      dimension(out)
    }

    private def dimension(out: ByteArrayOutputStream): Unit = {
      out.write('['.toInt)
      var isFirst = true
      while (literal.next()) {
        if (!isFirst) out.write(','.toInt)
        isFirst = false
        if (literal.isNested) {
          literal.enter()
          dimension(out)
        } else {
          literal.read()
          if (literal.isNull) out.writeBytes(Null)
          else element.write(literal.value, literal.from, literal.length, out)
        }
      }
      out.write(']'.toInt)
    }
  }

  final private class Fields(fields: Array[(Array[Byte], JsonForm)]) extends JsonForm {
    private val literal = new Literal(',', ')')

    override def write(bytes: Array[Byte], offset: Int, length: Int, out: ByteArrayOutputStream): Unit = {
      literal.start(bytes, offset)
      out.write('{'.toInt)
      var hasMore = fields.nonEmpty && literal.next()
      var i = 0
      while (i < fields.length) {
        val (name, form) = fields(i)
        if (i > 0) out.write(','.toInt)
        out.writeBytes(name)
        out.write(':'.toInt)
        if (hasMore) literal.read()
        if (!hasMore || literal.isMissing) out.writeBytes(Null)
        else form.write(literal.value, literal.from, literal.length, out)
        hasMore = hasMore && literal.next()
        i += 1
      }
      if (hasMore)
        throw new UnreadableValue(
          "its type has more attributes than when the query was started",
          Some("Start the query again"))
      out.write('}'.toInt)
    }
  }

  def quoted(text: String): Array[Byte] = {
    val bytes = text.getBytes(UTF_8)
    val out = new ByteArrayOutputStream
    quote(bytes, 0, bytes.length, out)
    out.toByteArray
  }

  private def quote(bytes: Array[Byte], offset: Int, length: Int, out: ByteArrayOutputStream): Unit = {
    out.write('"'.toInt)
    var i = offset
    while (i < offset + length) {
      val byte = bytes(i).toInt
      val escape = Escaped.indexOf(byte)
      if (escape >= 0) {
        out.write('\\'.toInt)
        out.write(Letters.charAt(escape).toInt)
      } else if (byte >= 0 && byte < ' ') out.writeBytes("\\u%04x".formatLocal(Locale.ROOT, byte).getBytes(ISO_8859_1))
      else out.write(byte)
      i += 1
    }
    out.write('"'.toInt)
  }
}
