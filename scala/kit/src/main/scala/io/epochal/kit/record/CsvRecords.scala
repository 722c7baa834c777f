package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.Conditions
import io.epochal.kit.json.JsonScan
import io.epochal.kit.spark.{CsvFields, CsvLayout, Examined}

/** The CSV lines (RFC 4180) of a piece, split into fields in place. A field in double quotes may contain separators, line
  * breaks and doubled quotes; in an unquoted field a quote is an ordinary character. Empty lines are skipped.
  *
  * @throws EpochalException
  *   CSV_HEADER_MISMATCH from `row`, if the header lacks a column
  */
final private[record] class CsvRecords(piece: Piece, format: RecordFormat.Csv, place: String)
    extends LineRecords
    with CsvFields {
  import CsvRecords._

  private val separator = format.separator.toByte
  private val nulls = format.nullText.map(_.getBytes(UTF_8)).orNull
  private var at = if (hasMark(piece)) 3 else 0
  private var begin = 0
  private var recordEnd = 0
  private var odd = false
  private var wide = false // Whether the line has bytes beyond ASCII.
  private var fields = 0
  private var from = new Array[Int](16)
  private var until = new Array[Int](16)
  private var kind = new Array[Byte](16)

  /** The field names, if there is a header. */
  val header: Option[Seq[String]] =
    Option.when(format.header && next())((0 until fields).map(field => String.valueOf(text(field))))
  private var layout: CsvLayout = _

  override def next(): Boolean = {
    while (at < piece.length && isBreak(piece.bytes(at))) at += 1
    val more = at < piece.length
    if (more) {
      begin = at
      fields = 0
      odd = false
      wide = false
      while (field()) {}
      recordEnd = at
    }
    more
  }

  /** If `next()` has failed, the line that failed. */
  override def start: Int = begin

  override def pass(): Unit =
    if (!format.tolerant && !isUtf8(begin, recordEnd)) throw new BodyProblem("a line of its CSV is not in UTF-8")

  override def row(columns: RecordColumns): InternalRow = columns.csv.row(this, layoutOf(columns))

  override def examine(columns: RecordColumns): Examined = columns.csv.examine(this, layoutOf(columns))

  override def bytes: Array[Byte] = Arrays.copyOfRange(piece.bytes, begin, recordEnd)

  override def size: Int = recordEnd - begin

  override def count: Int = fields

  override def isSplit: Boolean = !odd

  override def isUtf8(field: Int): Boolean = isUtf8(from(field), until(field))

  override def text(field: Int): String =
    if (isNull(field)) null
    else {
      val plain = new String(piece.bytes, from(field), until(field) - from(field), UTF_8)
      if (kind(field) == Doubled) plain.replace("\"\"", "\"") else plain
    }

  override def utf8(field: Int): UTF8String =
    if (kind(field) == Doubled) UTF8String.fromString(text(field))
    else if (isNull(field)) null
    else UTF8String.fromBytes(Arrays.copyOfRange(piece.bytes, from(field), until(field)))

  private def isUtf8(first: Int, end: Int): Boolean = !wide || new JsonScan(piece.bytes, first, end).text()

  private def isNull(field: Int): Boolean = kind(field) == Plain && {
    val length = until(field) - from(field)
    length == 0 || (nulls != null && Arrays.equals(piece.bytes, from(field), until(field), nulls, 0, nulls.length))
  }

  /** Splits the next field.
    *
    * @return
    *   whether there is another field in the line
    */
  private def field(): Boolean = {
    if (at < piece.length && piece.bytes(at) == '"') skipQuoted()
    else {
      val first = at
      toEnd()
      add(first, at, Plain)
    }
    val more = at < piece.length && piece.bytes(at) == separator
    if (more) at += 1
    more
  }

  private def skipQuoted(): Unit = {
    val first = at + 1
    var form = Quoted
    at = closing(first)
    while (at + 1 < piece.length && piece.bytes(at + 1) == '"') {
      form = Doubled
      at = closing(at + 2)
    }
    add(first, at, form)
    at += 1
    if (at < piece.length && piece.bytes(at) != separator && !isBreak(piece.bytes(at))) {
      odd = true
      toEnd()
    }
  }

  private def closing(start: Int): Int = {
    val bytes = piece.bytes
    val end = piece.length
    var all = 0
    var i = start
    while (i < end && bytes(i) != '"') {
      all |= bytes(i)
      i += 1
    }
    if (all < 0) wide = true
    if (i >= end) throw new BodyProblem("a quoted field of its CSV has no end", cut = true)
    i
  }

  private def toEnd(): Unit = {
    val bytes = piece.bytes
    val end = piece.length
    var all = 0
    var i = at
    while (i < end && bytes(i) != separator && !isBreak(bytes(i))) {
      all |= bytes(i)
      i += 1
    }
    if (all < 0) wide = true
    at = i
  }

  private def isBreak(byte: Byte): Boolean = byte == '\n' || byte == '\r'

  private def layoutOf(columns: RecordColumns): CsvLayout = {
    if (layout == null)
      layout = columns.csv
        .layout(header)
        .fold(reason => throw Conditions.CsvHeaderMismatch("url" -> place, "reason" -> reason), identity)
    layout
  }

  private def add(first: Int, end: Int, form: Byte): Unit = {
    if (fields == from.length) {
      from = Arrays.copyOf(from, fields * 2)
      until = Arrays.copyOf(until, fields * 2)
      kind = Arrays.copyOf(kind, fields * 2)
    }
    from(fields) = first
    until(fields) = end
    kind(fields) = form
    fields += 1
  }
}

private object CsvRecords {
  private val Plain: Byte = 0
  private val Quoted: Byte = 1

  /** Marks a field that contains doubled quotes. */
  private val Doubled: Byte = 2

  /** Whether it begins with a UTF-8 byte order mark. */
  private def hasMark(piece: Piece): Boolean =
    piece.length >= 3 && piece.bytes(0) == 0xef.toByte && piece.bytes(1) == 0xbb.toByte && piece.bytes(2) == 0xbf.toByte
}
