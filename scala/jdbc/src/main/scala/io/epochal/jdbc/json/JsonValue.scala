package io.epochal.jdbc.json

import java.nio.charset.StandardCharsets.UTF_8
import java.util.HexFormat

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.row.{NulCharacter, StoredText, Texts}
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes}
import io.epochal.kit.spark.memory.{BinaryRow, Memory, UnsafeLayout}

/** Writes values of one type as JSON, in the forms that docs/types.md lists. Equal values give equal texts.
  *
  * One instance per task.
  */
private[jdbc] trait JsonValue {

  /** Writes a value, which must not be NULL.
    *
    * @throws BadValue
    *   the value has no JSON form
    */
  def write(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit
}

private[jdbc] object JsonValue {

  /** Names within a struct must differ, and a map's keys must be scalars: otherwise data would be lost. */
  def supports(dataType: DataType): Boolean = dataType match {
    case ArrayType(element, _)  => supports(element)
    case MapType(key, value, _) => isScalar(key) && supports(value)
    case StructType(fields) =>
      fields.map(_.name).distinct.length == fields.length && fields.forall(f =>
        !f.name.contains('\u0000') && supports(f.dataType))
    case VariantType => true
    case other       => isScalar(other)
  }

  private def isScalar(dataType: DataType): Boolean = Texts.is(dataType) || JsonScalar.supports(dataType)

  /** @param column
    *   index in the query's rows, for messages
    */
  def apply(column: Int, dataType: DataType, nul: NulCharacter): JsonValue = dataType match {
    case ArrayType(element, _)                        => new Elements(element, apply(column, element, nul))
    case MapType(key, value, _)                       => new Entries(column, key, value, nul)
    case StructType(fields)                           => new Fields(column, fields, nul)
    case _: StringType | _: CharType | _: VarcharType => new Text(column, nul)
    case VariantType                                  => new Variant(column, nul)
    case other                                        => JsonScalar(other)
  }

  /** A map's key as the name of an object's member. A NUL character in it is always an error: replacing it could make two keys
    * equal.
    */
  private def name(column: Int, dataType: DataType): JsonValue =
    if (Texts.is(dataType)) new Text(column, NulCharacter.Error) else JsonScalar.name(dataType)

  /** Writes characters below 128, one byte each. */
  def ascii(text: String, out: ChunkedBytes): Unit = {
    out.reserve(text.length)
    var i = 0
    while (i < text.length) {
      out.putByte(text.charAt(i).toInt)
      i += 1
    }
  }

  private def byte(char: Char, out: ChunkedBytes): Unit = {
    out.reserve(1)
    out.putByte(char.toInt)
  }

  final private class Elements(element: DataType, value: JsonValue) extends JsonValue {
    private val width = UnsafeLayout.slotWidth(element)

    override def write(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
      val array = UnsafeLayout.address(base, origin, slot)
      val size = UnsafeLayout.arraySize(base, array)
      val slots = UnsafeLayout.slotsOfArray(array, size)
      byte('[', out)
      var i = 0
      while (i < size) {
        if (i > 0) byte(',', out)
        if (UnsafeLayout.isNullInArray(base, array, i)) ascii("null", out)
        else value.write(base, array, slots + i.toLong * width, out)
        i += 1
      }
      byte(']', out)
    }
  }

  /** Writes NULLs too, so that a NULL field differs from a missing one. */
  final private class Fields(column: Int, fields: Array[StructField], nul: NulCharacter) extends JsonValue {
    private val values = fields.map(field => JsonValue(column, field.dataType, nul))
    private val names = fields.zipWithIndex.map { case (field, i) =>
      val out = new ChunkedBytes(Long.MaxValue, () => throw new IllegalStateException("a name without end"))
      if (i > 0) byte(',', out)
      val bytes = field.name.getBytes("UTF-8")
      quote(bytes, Memory.ARRAY_START, bytes.length, out)
      byte(':', out)
      out
    }

    override def write(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
      val row = UnsafeLayout.address(base, origin, slot)
      val slots = UnsafeLayout.slotsOfRow(row, values.length)
      byte('{', out)
      var i = 0
      while (i < values.length) {
        names(i).copyTo(out)
        if (UnsafeLayout.isNullInRow(base, row, i)) ascii("null", out)
        else values(i).write(base, row, slots + i * 8L, out)
        i += 1
      }
      byte('}', out)
    }
  }

  /** In the map's own order. */
  final private class Entries(column: Int, key: DataType, value: DataType, nul: NulCharacter) extends JsonValue {
    private val names = name(column, key)
    private val values = JsonValue(column, value, nul)
    private val nameWidth = UnsafeLayout.slotWidth(key)
    private val valueWidth = UnsafeLayout.slotWidth(value)

    override def write(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
      val map = UnsafeLayout.address(base, origin, slot)
      val keyArray = UnsafeLayout.mapKeys(map)
      val valueArray = UnsafeLayout.mapValues(base, map)
      val size = UnsafeLayout.arraySize(base, keyArray)
      val keySlots = UnsafeLayout.slotsOfArray(keyArray, size)
      val valueSlots = UnsafeLayout.slotsOfArray(valueArray, size)
      byte('{', out)
      var i = 0
      while (i < size) {
        if (i > 0) byte(',', out)
        names.write(base, keyArray, keySlots + i.toLong * nameWidth, out)
        byte(':', out)
        if (UnsafeLayout.isNullInArray(base, valueArray, i)) ascii("null", out)
        else values.write(base, valueArray, valueSlots + i.toLong * valueWidth, out)
        i += 1
      }
      byte('}', out)
    }
  }

  final private class Text(column: Int, nul: NulCharacter) extends JsonValue {
    private val text = new StoredText(nul)

    override def write(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
      val problem = text.take(base, UnsafeLayout.address(base, origin, slot), UnsafeLayout.length(base, slot))
      if (problem != null) throw new BadValue(column, problem)
      quote(text.base, text.address, text.length, out)
    }
  }

  /** Spark's JSON text of the variant; NUL characters in it are handled as in any JSON. */
  final private class Variant(column: Int, nul: NulCharacter) extends JsonValue {
    private val json = new StoredJson(nul)

    override def write(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
      val text =
        try UnsafeLayout.variantJson(base, origin, slot).getBytes("UTF-8")
        catch { case e: RuntimeException => throw new BadValue(column, s"its bytes are no variant: ${e.getMessage}") }
      val problem = json.take(text, Memory.ARRAY_START, text.length)
      if (problem != null) throw new BadValue(column, problem)
      out.reserve(json.length)
      out.putBytes(json.base, json.address, json.length)
    }
  }

  /** A text in quotes, with the escapes that JSON requires. */
  private def quote(base: AnyRef, address: Long, length: Int, out: ChunkedBytes): Unit = {
    byte('"', out)
    var from = 0
    var i = 0
    while (i < length) {
      val c = Memory.getByte(base, address + i)
      if (c == '"' || c == '\\' || (c >= 0 && c < 0x20)) {
        raw(base, address + from, i - from, out)
        ascii(escape(c.toChar), out)
        from = i + 1
      }
      i += 1
    }
    raw(base, address + from, length - from, out)
    byte('"', out)
  }

  private def raw(base: AnyRef, address: Long, length: Int, out: ChunkedBytes): Unit = {
    out.reserve(length)
    out.putBytes(base, address, length)
  }

  private def escape(c: Char): String = c match {
    case '"'  => "\\\""
    case '\\' => "\\\\"
    case '\b' => "\\b"
    case '\f' => "\\f"
    case '\n' => "\\n"
    case '\r' => "\\r"
    case '\t' => "\\t"
    case _    => s"\\u${HexFormat.of.toHexDigits(c)}"
  }
}

/** A column's values as JSON texts, for databases that store JSON as text. One instance per thread. */
final private[jdbc] class JsonColumn(bound: BoundColumn, nul: NulCharacter) {
  private val ordinal = bound.ordinal
  private val value = JsonValue(ordinal, bound.field.dataType, nul)
  private val out =
    new ChunkedBytes(1L << 30, () => throw new BadValue(ordinal, "as JSON it is longer than 1 GB"))

  /** Why the value has no JSON form; null if it has one. The value must not be NULL. */
  def problem(row: BinaryRow): String =
    try {
      write(row)
      null
    } catch { case bad: BadValue => bad.reason }

  /** The JSON text of a value, which must not be NULL.
    *
    * @throws BadValue
    *   the value has no JSON form
    */
  def text(row: BinaryRow): String = {
    write(row)
    val (chunks, lengths) = out.contents
    if (chunks.length == 1) new String(chunks(0), 0, lengths(0), UTF_8)
    else {
      val whole = new java.io.ByteArrayOutputStream(out.size.toInt)
      chunks.indices.foreach(i => whole.write(chunks(i), 0, lengths(i)))
      whole.toString(UTF_8)
    }
  }

  private def write(row: BinaryRow): Unit = {
    out.clear()
    val origin = row.origin
    value.write(row.base, origin, row.slot(ordinal), out)
  }
}
