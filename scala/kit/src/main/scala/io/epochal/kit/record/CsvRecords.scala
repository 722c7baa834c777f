package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.Conditions
import io.epochal.kit.spark.{CsvFields, CsvLayout, Examined}

/** Iterates over the CSV lines of a piece.
  *
  * @throws EpochalException
  *   CSV_HEADER_MISMATCH from `row`, if the header lacks a column
  */
final private[record] class CsvRecords(piece: Piece, format: RecordFormat.Csv, place: String) extends LineRecords {

  private val line = format.split(piece)

  /** The field names, if there is a header. */
  val header: Option[Seq[String]] =
    Option.when(format.header && line.next())((0 until line.size).map(field => String.valueOf(line.text(field))))
  private var layout: CsvLayout = _

  override def start: Int = line.start

  override def next(): Boolean = line.next()

  override def pass(): Unit = ()

  override def row(columns: RecordColumns): InternalRow = columns.csv.row(line, layoutOf(columns))

  override def examine(columns: RecordColumns): Examined = columns.csv.examine(line, layoutOf(columns))

  override def bytes: Array[Byte] = line.bytes

  override def size: Int = line.length

  override def finish(): Unit = ()

  private def layoutOf(columns: RecordColumns): CsvLayout = {
    if (layout == null)
      layout = columns.csv
        .layout(header)
        .fold(reason => throw Conditions.CsvHeaderMismatch("url" -> place, "reason" -> reason), identity)
    layout
  }
}

/** Splits CSV (RFC 4180) into lines and fields, in place. A field in double quotes may contain separators, line breaks and
  * doubled quotes; in an unquoted field a quote is an ordinary character. Empty lines are skipped.
  *
  * @param nullText
  *   an unquoted text that means NULL, as an empty one always does
  */
final private[record] class CsvLine(body: Piece, separator: Byte, nullText: Option[String]) extends CsvFields {
  import CsvLine._

  private val nulls = nullText.map(_.getBytes(UTF_8)).orNull
  private var at = if (CsvLine.hasMark(body)) 3 else 0
  private var begin = 0
  private var finish = 0
  private var count = 0
  private var odd = false
  private var from = new Array[Int](16)
  private var until = new Array[Int](16)
  private var kind = new Array[Byte](16)

  /** Moves to the next line, if there is one. */
  def next(): Boolean = {
    while (at < body.length && isBreak(body.bytes(at))) at += 1
    val more = at < body.length
    if (more) {
      begin = at
      count = 0
      odd = false
      while (field()) {}
      finish = at
    }
    more
  }

  /** The byte at which the line begins; if `next()` has failed, that of the failed line. */
  def start: Int = begin

  /** The bytes of the line. */
  def bytes: Array[Byte] = Arrays.copyOfRange(body.bytes, begin, finish)

  /** The number of its bytes. */
  def length: Int = finish - begin

  override def size: Int = count

  override def isSplit: Boolean = !odd

  override def text(field: Int): String =
    if (isNull(field)) null
    else {
      val plain = new String(body.bytes, from(field), until(field) - from(field), UTF_8)
      if (kind(field) == Doubled) plain.replace("\"\"", "\"") else plain
    }

  override def utf8(field: Int): UTF8String =
    if (kind(field) == Doubled) UTF8String.fromString(text(field))
    else if (isNull(field)) null
    else UTF8String.fromBytes(Arrays.copyOfRange(body.bytes, from(field), until(field)))

  private def isNull(field: Int): Boolean = kind(field) == Plain && {
    val length = until(field) - from(field)
    length == 0 || (nulls != null && Arrays.equals(body.bytes, from(field), until(field), nulls, 0, nulls.length))
  }

  /** Splits the next field.
    *
    * @return
    *   whether there is another field in the line
    */
  private def field(): Boolean = {
    if (at < body.length && body.bytes(at) == '"') quoted()
    else {
      val first = at
      toEnd()
      add(first, at, Plain)
    }
    val more = at < body.length && body.bytes(at) == separator
    if (more) at += 1
    more
  }

  private def quoted(): Unit = {
    val first = at + 1
    var form = Quoted
    at = closing(first)
    while (at + 1 < body.length && body.bytes(at + 1) == '"') {
      form = Doubled
      at = closing(at + 2)
    }
    add(first, at, form)
    at += 1
    if (at < body.length && body.bytes(at) != separator && !isBreak(body.bytes(at))) {
      odd = true
      toEnd()
    }
  }

  private def closing(start: Int): Int = {
    var i = start
    while (i < body.length && body.bytes(i) != '"') i += 1
    if (i >= body.length) throw new BodyProblem("a quoted field of its CSV has no end", cut = true)
    i
  }

  private def toEnd(): Unit =
    while (at < body.length && body.bytes(at) != separator && !isBreak(body.bytes(at))) at += 1

  private def isBreak(byte: Byte): Boolean = byte == '\n' || byte == '\r'

  private def add(first: Int, end: Int, form: Byte): Unit = {
    if (count == from.length) {
      from = Arrays.copyOf(from, count * 2)
      until = Arrays.copyOf(until, count * 2)
      kind = Arrays.copyOf(kind, count * 2)
    }
    from(count) = first
    until(count) = end
    kind(count) = form
    count += 1
  }
}

private object CsvLine {
  private val Plain: Byte = 0
  private val Quoted: Byte = 1

  /** Marks a field that contains doubled quotes. */
  private val Doubled: Byte = 2

  /** Whether it begins with a UTF-8 byte order mark. */
  private def hasMark(body: Piece): Boolean =
    body.length >= 3 && body.bytes(0) == 0xef.toByte && body.bytes(1) == 0xbb.toByte && body.bytes(2) == 0xbf.toByte
}
