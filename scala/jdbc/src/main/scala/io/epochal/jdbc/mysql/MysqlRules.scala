package io.epochal.jdbc.mysql

import java.time.Instant

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.insert.{Binder, IsoTime, ValueCheck, ValueRules}
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.spark.memory.Memory

/** How MySQL stores values. Tasks find what MySQL's strict mode would still change: fractions of a second and trailing spaces that
  * would be cut, and bytes that would be padded.
  */
private[mysql] object MysqlRules extends ValueRules {

  override def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck] = {
    val kind = MysqlType.of(column.column)
    column.field.dataType match {
      case ByteType if kind.unsigned    => Some((row, c) => negative(row.getByte(c).toLong))
      case ShortType if kind.unsigned   => Some((row, c) => negative(row.getShort(c).toLong))
      case IntegerType if kind.unsigned => Some((row, c) => negative(row.getInt(c).toLong))
      case LongType if kind.unsigned    => Some((row, c) => negative(row.getLong(c)))
      case FloatType                    => Some(ValueCheck.float)
      case DoubleType                   => Some(ValueCheck.double)
      case BinaryType                   => kind.length.map(most => bytes(most, exactly = kind.name == "binary"))
      case DateType                     => Some(ValueCheck.date)
      case TimestampNTZType             => Some(ValueCheck.timestamp(unit(kind)))
      case TimestampType                => Some(ValueCheck.both(ValueCheck.timestamp(unit(kind)), range))
      case _: StringType | _: CharType | _: VarcharType =>
        Some(ValueCheck.both(ValueCheck.text(nul, kind.characters), text(kind)))
      case _ => None
    }
  }

  private def negative(value: Long): String = if (value < 0) "it is negative, and the column is unsigned" else null

  private def unit(kind: MysqlType): Long = math.pow(10, (6 - kind.fraction).toDouble).toLong

  private val First = Instant.parse("1970-01-01T00:00:01Z").getEpochSecond * 1000000L
  private val Last = Instant.parse("2038-01-19T03:14:08Z").getEpochSecond * 1000000L - 1

  private val range: ValueCheck = (row, c) =>
    if (row.getLong(c) >= First && row.getLong(c) <= Last) null
    else
      "a TIMESTAMP column holds 1970-01-01T00:00:01Z to 2038-01-19T03:14:07Z only; write it into a DATETIME as TIMESTAMP_NTZ"

  private def bytes(most: Int, exactly: Boolean): ValueCheck = (row, c) => {
    val length = row.length(c)
    if (length > most || exactly && length < most)
      s"it has $length bytes, and the column holds ${if (exactly) "exactly" else "at most"} $most"
    else null
  }

  private def text(kind: MysqlType): ValueCheck = {
    val maxBytes = kind.bytes.getOrElse(Int.MaxValue)
    val maxCharacters = if (kind.name.endsWith("char")) kind.length.getOrElse(Int.MaxValue) else Int.MaxValue
    val cutsSpaces = kind.name == "char"
    (row, c) => {
      val length = row.length(c)
      if (length > maxCharacters &&
        UTF8String.fromAddress(row.base, row.address(c), length).numChars > maxCharacters)
        s"it is longer than the column's $maxCharacters characters"
      else if (length > maxBytes) s"it has $length bytes, and the column holds at most $maxBytes"
      else if (cutsSpaces && length > 0 &&
        Memory.getByte(row.base, row.address(c) + length - 1) == ' ')
        "it ends in a space, which a CHAR column does not keep"
      else null
    }
  }

  override def binder(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
    case BooleanType => (s, i, row, c) => s.setInt(i, if (row.getBoolean(c)) 1 else 0)
    // As texts: a driver would convert dates by its own calendar and zone. The session's zone is UTC.
    case DateType                         => (s, i, row, c) => s.setString(i, IsoTime.date(row.getInt(c)))
    case TimestampType | TimestampNTZType => (s, i, row, c) => s.setString(i, IsoTime.timestamp(row.getLong(c), ""))
    // The shortest digits, as in a statement's text: 0.1, where the bulk protocol would store 0.10000000149011612.
    case FloatType if MysqlType.of(column.column).name == "double" =>
      (s, i, row, c) => s.setDouble(i, row.getFloat(c).toString.toDouble)
    case other => Binder.plain(other, nul)
  }
}
