package io.epochal.cdc.value

import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.Locale

import io.epochal.kit.database.PostgresType

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
