package io.epochal.jdbc.generic

import java.sql.Types
import java.time.{Instant, LocalDate, LocalDateTime, ZoneOffset}

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.insert.{Binder, ValueCheck, ValueRules}
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.database.ColumnType

/** A column's type as reported by JDBC's metadata.
  *
  * @param number
  *   constant of `java.sql.Types`
  * @param size
  *   characters, bytes or digits
  * @param scale
  *   fractional digits, of a number or of seconds
  */
final case class GenericType(typeName: String, number: Int, size: Int, scale: Int) extends ColumnType {
  override def declaration: String = number match {
    case Types.DECIMAL | Types.NUMERIC                     => s"$typeName($size,$scale)"
    case Types.VARCHAR | Types.CHAR if size < Int.MaxValue => s"$typeName($size)"
    case _                                                 => typeName
  }

  def digitsBeforePoint: Int = size - scale
}

object GenericType extends GenericTypes {

  /** Fractional second digits of a timestamp of the given length: `2026-01-31 12:30:00.123456+01:00`. */
  def fraction(number: Int, size: Int): Int = number match {
    case Types.TIMESTAMP               => math.max(0, size - 20)
    case Types.TIMESTAMP_WITH_TIMEZONE => math.max(0, size - 26)
    case _                             => 0
  }
}

/** Binds values by the setters that JDBC 4.2 requires of every driver. */
private[generic] object GenericRules extends ValueRules {

  override def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck] = column.field.dataType match {
    case FloatType                                    => Some(ValueCheck.float)
    case DoubleType                                   => Some(ValueCheck.double)
    case _: StringType | _: CharType | _: VarcharType => Some(ValueCheck.text(nul))
    case DateType => Some(ValueCheck.both(ValueCheck.date, ValueCheck.gregorianDate))
    case TimestampType | TimestampNTZType =>
      Some(ValueCheck.both(ValueCheck.timestamp(finest(column)), ValueCheck.gregorianTimestamp))
    case _ => None
  }

  /** The smallest unit that the column keeps, in microseconds. */
  private def finest(column: BoundColumn): Long = column.column.columnType match {
    case kind: GenericType => math.pow(10, (6 - math.max(0, math.min(kind.scale, 6))).toDouble).toLong
    case _                 => 1L
  }

  override def binder(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
    case BooleanType => (s, i, row, c) => s.setBoolean(i, row.getBoolean(c))
    case DateType    => (s, i, row, c) => s.setObject(i, LocalDate.ofEpochDay(row.getInt(c).toLong))
    case TimestampType =>
      (s, i, row, c) => s.setObject(i, instant(row.getLong(c)).atOffset(ZoneOffset.UTC))
    case TimestampNTZType =>
      (s, i, row, c) => s.setObject(i, LocalDateTime.ofInstant(instant(row.getLong(c)), ZoneOffset.UTC))
    case other => Binder.plain(other, nul)
  }

  private def instant(micros: Long): Instant =
    Instant.ofEpochSecond(Math.floorDiv(micros, 1000000L), Math.floorMod(micros, 1000000L) * 1000L)
}
