package io.epochal.jdbc.mysql

import java.io.InputStream
import java.nio.charset.StandardCharsets.US_ASCII

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Operation}
import io.epochal.jdbc.insert.IsoBytes
import io.epochal.jdbc.row.{NulCharacter, StoredText}
import io.epochal.kit.sink.row.EncodedRows
import io.epochal.kit.spark.memory.{BinaryRow, Memory}

/** Encoded rows as the lines that LOAD DATA reads, with the columns of [[BoundTable.incoming]]: fields end in a tab, lines in a line feed, NULL is `\N`. In texts and bytes a
  * backslash stands before each tab, line feed (written as `t` and `n`) and backslash.
  *
  * Any failure to read the rows, also a fatal one, ends the stream early: an exception would leave the driver in the middle of its
  * exchange with the server, which would take the next statement for a row. The caller rethrows it by [[check]], and rolls back.
  */
final private[mysql] class LoadLines(table: BoundTable, rows: EncodedRows) extends InputStream {
  import LoadLines._

  private val fields = table.columns.map(field(_, table.nulCharacter)).toArray
  private val ordinals = table.columns.map(_.ordinal).toArray
  private val identifies = table.columns.map(_.identifies).toArray
  private val operation = new Operation(table.operation, table.columns)
  private val row = BinaryRow.empty(table.width)
  private val chunks = rows.chunks.iterator
  private val line = new Line
  private var chunk = Array.emptyByteArray
  private var end = 0
  private var place = 0
  private var position = 0
  private var failure = Option.empty[Throwable]

  /** Fails if the stream ended before all rows were read. */
  def check(): Unit = failure.foreach(throw _)

  override def read(into: Array[Byte], offset: Int, count: Int): Int = {
    if (position == line.length) fill()
    val size = math.min(count, line.length - position)
    System.arraycopy(line.bytes, position, into, offset, size)
    position += size
    if (size == 0 && count > 0) -1 else size
  }

  override def read(): Int = {
    val one = new Array[Byte](1)
    if (read(one, 0, 1) < 0) -1 else one(0) & 0xff
  }

  private def fill(): Unit = {
    line.length = 0
    position = 0
    try while (failure.isEmpty && line.length < Enough && advance()) write()
    catch {
      case error: Throwable =>
        failure = Some(error)
        line.length = 0
    }
  }

  /** Moves to the row at `place`, if there is one. */
  private def advance(): Boolean = {
    while (place == end && chunks.hasNext) {
      val (bytes, length) = chunks.next()
      chunk = bytes
      end = length
      place = 0
    }
    place < end
  }

  private def write(): Unit = {
    val length = java.lang.Long.reverseBytes(Memory.getLong(chunk, Memory.ARRAY_START + place)).toInt
    row.pointTo(chunk, place + 8, length)
    place += 8 + length
    val effect = operation.effect(row)
    var i = 0
    while (i < fields.length) {
      if (i > 0) line.put('\t')
      if (row.isNullAt(ordinals(i)) || Operation.omits(effect, identifies(i))) line.ascii(Null)
      else fields(i).write(row, ordinals(i), line)
      i += 1
    }
    if (operation.width > 0) line.ascii(if (Operation.deletes(effect)) "\t1" else "\t0")
    if (operation.width > 1) {
      putText(operation.version(row, effect))
      putText(operation.unchangedColumns(row))
    }
    line.put('\n')
  }

  private def putText(text: UTF8String): Unit = {
    line.put('\t')
    if (text == null) line.ascii(Null) else line.escape(text.getBaseObject, text.getBaseOffset, text.numBytes)
  }
}

private[mysql] object LoadLines {

  private val Null = "\\N"

  /** Bytes to encode before some are sent. */
  private val Enough = 64 << 10

  /** LOAD DATA of such lines. It reads them as bytes, which is right for what is stored as UTF-8; other columns get their values
    * from a variable. Hexadecimal literals mean the same under any `sql_mode`.
    */
  def sql(into: String, table: BoundTable): String = {
    val places = table.columns.zipWithIndex.map { case (column, i) =>
      val name = MysqlDialect.quote(column.column.name)
      val variable = s"@epochal_$i"
      conversion(column, variable).fold((name, Option.empty[String]))(sql => (variable, Some(s"$name = $sql")))
    }
    val sets = places.flatMap(_._2)
    val names = places.map(_._1) ++ table.operation.toSeq.flatMap(_.names).map(MysqlDialect.quote)
    s"LOAD DATA LOCAL INFILE 'epochal' INTO TABLE $into CHARACTER SET binary " +
      "FIELDS TERMINATED BY 0x09 ESCAPED BY 0x5C LINES TERMINATED BY 0x0A " +
      s"(${names.mkString(", ")})${if (sets.isEmpty) "" else sets.mkString(" SET ", ", ", "")}"
  }

  /** SQL of the value for a column that must not get its bytes as they are. */
  private def conversion(column: BoundColumn, variable: String): Option[String] = {
    val kind = MysqlType.of(column.column)
    column.field.dataType match {
      case _: StringType | _: CharType | _: VarcharType =>
        Option.unless(Option(kind.collation).exists(_.startsWith("utf8mb4")))(s"CONVERT($variable USING utf8mb4)")
      case BooleanType if kind.name == "bit" => Some(s"CAST($variable AS UNSIGNED)")
      case _                                 => None
    }
  }

  /** Writes a non-NULL value. */
  private trait Field {
    def write(row: BinaryRow, column: Int, line: Line): Unit
  }

  /** The same values as those of [[MysqlRules.binder]]. */
  private def field(column: BoundColumn, nul: NulCharacter): Field = column.field.dataType match {
    case BooleanType => (row, c, line) => line.put(if (row.getBoolean(c)) '1' else '0')
    case ByteType    => (row, c, line) => line.number(row.getByte(c).toLong)
    case ShortType   => (row, c, line) => line.number(row.getShort(c).toLong)
    case IntegerType => (row, c, line) => line.number(row.getInt(c).toLong)
    case LongType    => (row, c, line) => line.number(row.getLong(c))
    case FloatType   => (row, c, line) => line.ascii(row.getFloat(c).toString)
    case DoubleType  => (row, c, line) => line.ascii(row.getDouble(c).toString)
    case d: DecimalType =>
      (row, c, line) => line.ascii(row.getDecimal(c, d.precision, d.scale).toJavaBigDecimal.toPlainString)
    case DateType                         => (row, c, line) => line.date(row.getInt(c).toLong)
    case TimestampType | TimestampNTZType => (row, c, line) => line.timestamp(row.getLong(c))
    case BinaryType                       => (row, c, line) => line.escape(row.base, row.address(c), row.length(c))
    case _ if nul == NulCharacter.Error   => (row, c, line) => line.escape(row.base, row.address(c), row.length(c))
    case _ =>
      val text = new StoredText(nul)
      (row, c, line) => {
        text.take(row.base, row.address(c), row.length(c)): Unit
        line.escape(text.base, text.address, text.length)
      }
  }

  /** Bytes that grow. */
  final private class Line {
    var bytes = new Array[Byte](2 * Enough)
    var length = 0
    private val iso = new IsoBytes

    private def reserve(more: Int): Unit =
      if (bytes.length - length < more)
        bytes = java.util.Arrays.copyOf(bytes, math.max(bytes.length * 2, length + more))

    def put(character: Char): Unit = {
      reserve(1)
      bytes(length) = character.toByte
      length += 1
    }

    def ascii(text: String): Unit = {
      val ascii = text.getBytes(US_ASCII)
      reserve(ascii.length)
      System.arraycopy(ascii, 0, bytes, length, ascii.length)
      length += ascii.length
    }

    def date(days: Long): Unit = {
      reserve(IsoBytes.DateLength)
      iso.date(days, bytes, length)
      length += IsoBytes.DateLength
    }

    def timestamp(micros: Long): Unit = {
      reserve(IsoBytes.TimestampLength)
      iso.timestamp(micros, bytes, length)
      length += IsoBytes.TimestampLength
    }

    def number(value: Long): Unit =
      if (value < 0) ascii(value.toString)
      else {
        reserve(LongestNumber)
        var digits = 1
        var rest = value
        while (rest >= 10) {
          rest /= 10
          digits += 1
        }
        length += digits
        var at = length
        rest = value
        while (at > length - digits) {
          at -= 1
          bytes(at) = ('0' + rest % 10).toByte
          rest /= 10
        }
      }

    def escape(base: AnyRef, address: Long, size: Int): Unit = {
      var i = 0
      while (i < size) {
        // A value may be as large as half an array.
        val most = math.min(size, i + Enough)
        reserve(2 * (most - i))
        while (i < most) {
          val byte = Memory.getByte(base, address + i)
          val letter = if (byte == '\\') '\\' else if (byte == '\n') 'n' else if (byte == '\t') 't' else 0
          if (letter == 0) bytes(length) = byte
          else {
            bytes(length) = '\\'
            length += 1
            bytes(length) = letter.toByte
          }
          length += 1
          i += 1
        }
      }
    }
  }

  private val LongestNumber = 20
}
