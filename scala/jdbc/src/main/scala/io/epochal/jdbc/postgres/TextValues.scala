package io.epochal.jdbc.postgres

import org.apache.spark.sql.types.DataType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.json.{JsonValue, StoredJson}
import io.epochal.jdbc.row.{CharacterSet, NulCharacter, StoredText, Texts}
import io.epochal.kit.sink.row.ChunkedBytes
import io.epochal.kit.spark.memory.{Memory, UnsafeLayout}

/** A text column: the bytes unchanged. */
final private class TextValue(column: Int, maxChars: Int, maxBytes: Int, nul: NulCharacter, characters: CharacterSet)
    extends CheckedValue(column) {
  private val text = new StoredText(nul, characters)

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val address = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    if (Texts.isPlain(base, address, length)) {
      if (length > maxChars) tooManyChars()
      put(base, address, length, out)
    } else {
      val problem = text.take(base, address, length)
      if (problem != null) refuse(problem)
      if (text.length > maxChars && UTF8String.fromAddress(text.base, text.address, text.length).numChars() > maxChars)
        tooManyChars()
      put(text.base, text.address, text.length, out)
    }
  }

  private def put(base: AnyRef, address: Long, length: Int, out: ChunkedBytes): Unit = {
    if (length > maxBytes) refuse(s"it has more than $maxBytes bytes")
    CopyValue.begin(out, length).putBytes(base, address, length)
  }

  private def tooManyChars(): Nothing = refuse(s"it has more than $maxChars characters")
}

/** One of the labels of an enum. */
final private class LabelValue(column: Int, labels: Seq[String]) extends CheckedValue(column) {
  private val known = labels.map(_.getBytes("UTF-8")).toArray

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val address = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    var i = 0
    while (i < known.length && !isAt(known(i), base, address, length)) i += 1
    if (i == known.length) refuse(s"it is none of the enum's labels (${labels.take(10).mkString(", ")}$more)")
    CopyValue.begin(out, length).putBytes(base, address, length)
  }

  private def isAt(label: Array[Byte], base: AnyRef, address: Long, length: Int): Boolean =
    label.length == length &&
      Memory.isEqual(base, address, label, Memory.ARRAY_START, length.toLong)

  private def more: String = if (labels.size > 10) ", …" else ""
}

/** A UUID: 32 hexadecimal digits in PostgreSQL's syntax, with optional hyphens after every four and optional braces. */
final private class UuidValue(column: Int) extends CheckedValue(column) {

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val address = UnsafeLayout.address(base, origin, slot)
    val length = UnsafeLayout.length(base, slot)
    val inBraces = length > 2 && byte(base, address) == '{' && byte(base, address + length - 1) == '}'
    val end = if (inBraces) length - 1 else length
    var i = if (inBraces) 1 else 0
    var high = 0L
    var low = 0L
    var digits = 0
    while (i < end && digits < 32) {
      val c = byte(base, address + i)
      if (c == '-') {
        val mayStand = digits > 0 && digits % 4 == 0 && byte(base, address + i - 1) != '-'
        if (!mayStand) bad()
      } else {
        val digit = Character.digit(c, 16)
        if (digit < 0) bad()
        high = (high << 4) | (low >>> 60)
        low = (low << 4) | digit
        digits += 1
      }
      i += 1
    }
    if (digits < 32 || i < end) bad()
    CopyValue.begin(out, 16).putLong(high)
    out.putLong(low)
  }

  private def byte(base: AnyRef, at: Long): Int = Memory.getByte(base, at).toInt

  private def bad(): Nothing = refuse("it is not a UUID")
}

/** A JSON text. In jsonb a version byte (1) precedes it. */
final private class JsonText(column: Int, isBinary: Boolean, nul: NulCharacter, characters: CharacterSet)
    extends CheckedValue(column) {
  private val json = new StoredJson(nul)

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    val problem = json.take(base, UnsafeLayout.address(base, origin, slot), UnsafeLayout.length(base, slot))
    if (problem != null) refuse(problem)
    if (characters != null) check()
    out.reserve(5 + json.length)
    out.putInt(json.length + (if (isBinary) 1 else 0))
    if (isBinary) out.putByte(1)
    out.putBytes(json.base, json.address, json.length)
  }

  /** Only jsonb decodes escapes. */
  private def check(): Unit = {
    val lacking = characters.problem(json.base, json.address, json.length)
    val problem =
      if (lacking != null || !isBinary) lacking
      else characters.escapeProblem(json.base.asInstanceOf[Array[Byte]], json.address, json.length)
    if (problem != null) refuse(problem)
  }
}

/** A struct, map, array or variant as JSON. */
final private class JsonTree(
    column: Int,
    from: DataType,
    isBinary: Boolean,
    nul: NulCharacter,
    characters: CharacterSet)
    extends CheckedValue(column) {
  private val value = JsonValue(column, from, nul)
  private val json = new ChunkedBytes(MaxBytes, () => refuse(s"as JSON it is longer than $MaxBytes bytes"))

  override def encode(base: AnyRef, origin: Long, slot: Long, out: ChunkedBytes): Unit = {
    json.clear()
    value.write(base, origin, slot, json)
    if (characters != null) check()
    out.reserve(5)
    out.putInt(json.size.toInt + (if (isBinary) 1 else 0))
    if (isBinary) out.putByte(1)
    json.copyTo(out)
  }

  /** Its escapes are ASCII. */
  private def check(): Unit = {
    val (chunks, lengths) = json.contents
    chunks.indices.foreach { i =>
      val problem = characters.problem(chunks(i), Memory.ARRAY_START, lengths(i))
      if (problem != null) refuse(s"as JSON, $problem")
    }
  }

  /** Limit on all texts of one jsonb value together: 256 MB. */
  private def MaxBytes = 255L << 20
}
