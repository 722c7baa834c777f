package io.epochal.jdbc.sqlite

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.insert.{Binder, IsoTime, ValueCheck, ValueRules}
import io.epochal.jdbc.json.JsonColumn
import io.epochal.jdbc.row.NulCharacter

/** Values as SQLite keeps them. */
private[sqlite] object SqliteRules extends ValueRules {

  override def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck] = column.field.dataType match {
    case FloatType  => Some((row, c) => if (row.getFloat(c).isNaN) NotANumber else null)
    case DoubleType => Some((row, c) => if (row.getDouble(c).isNaN) NotANumber else null)
    case _: StringType | _: CharType | _: VarcharType => Some(ValueCheck.text(nul))
    case nested if SqliteType.isNested(nested) =>
      val json = new JsonColumn(column, nul)
      Some((row, _) => json.problem(row))
    case DateType                         => Some(ValueCheck.date)
    case TimestampType | TimestampNTZType => Some(ValueCheck.timestamp(1))
    case _                                => None
  }

  override def binder(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
    case BooleanType => (s, i, row, c) => s.setInt(i, if (row.getBoolean(c)) 1 else 0)
    case FloatType   => (s, i, row, c) => s.setDouble(i, row.getFloat(c).toDouble)
    case d: DecimalType =>
      (s, i, row, c) => s.setString(i, row.getDecimal(c, d.precision, d.scale).toJavaBigDecimal.toPlainString)
    case DateType         => (s, i, row, c) => s.setString(i, IsoTime.date(row.getInt(c)))
    case TimestampType    => (s, i, row, c) => s.setString(i, IsoTime.timestamp(row.getLong(c), "Z"))
    case TimestampNTZType => (s, i, row, c) => s.setString(i, IsoTime.timestamp(row.getLong(c), ""))
    case nested if SqliteType.isNested(nested) =>
      val json = new JsonColumn(column, nul)
      (s, i, row, _) => s.setString(i, json.text(row))
    case other => Binder.plain(other, nul)
  }

  private val NotANumber = "SQLite has no NaN and would store NULL"
}
