package io.epochal.jdbc.generic

import java.time.{Instant, LocalDate, LocalDateTime, ZoneOffset}

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.insert.{Binder, ValueCheck, ValueRules}
import io.epochal.jdbc.row.NulCharacter

/** Values by the setters that JDBC 4.2 asks of every driver. */
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

  /** Microseconds in the least unit that the column keeps. */
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
