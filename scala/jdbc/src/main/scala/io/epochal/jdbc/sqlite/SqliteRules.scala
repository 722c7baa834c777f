package io.epochal.jdbc.sqlite

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.insert.{Binder, IsoBytes, IsoTime, ValueCheck, ValueRules}
import io.epochal.jdbc.json.JsonColumn
import io.epochal.jdbc.row.NulCharacter

/** How SQLite stores values. */
private[sqlite] object SqliteRules extends ValueRules {

  override def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck] = column.field.dataType match {
    case FloatType  => Some((row, c) => if (row.getFloat(c).isNaN) NotANumber else null)
    case DoubleType => Some((row, c) => if (row.getDouble(c).isNaN) NotANumber else null)
    case _: StringType | _: CharType | _: VarcharType => Some(ValueCheck.text(nul))
    case dataType if SqliteType.isNested(dataType) =>
      val json = new JsonColumn(column, nul)
      Some((row, _) => json.problem(row))
    case DateType                         => Some(ValueCheck.date)
    case TimestampType | TimestampNTZType => Some(ValueCheck.timestamp(1))
    case _                                => None
  }

  /** Whether values are bound as bytes: texts are UTF-8 in Spark's rows and in the database, so that neither driver nor binder
    * has to decode and encode them.
    */
  private def asBytes(column: BoundColumn): Boolean = column.field.dataType match {
    case _: StringType | _: CharType | _: VarcharType | DateType | TimestampType | TimestampNTZType =>
      column.column.columnType.asInstanceOf[SqliteType].sortsTexts
    case _ => false
  }

  override def parameter(column: BoundColumn): String = if (asBytes(column)) "CAST(? AS TEXT)" else "?"

  override def binder(column: BoundColumn, nul: NulCharacter): Binder =
    if (asBytes(column)) bytes(column, nul) else plain(column, nul)

  private def bytes(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
    case DateType =>
      val iso = new IsoBytes
      (s, i, row, c) => {
        val text = new Array[Byte](IsoBytes.DateLength)
        iso.date(row.getInt(c).toLong, text, 0)
        s.setBytes(i, text)
      }
    case TimestampType | TimestampNTZType =>
      val iso = new IsoBytes
      val isInstant = column.field.dataType == TimestampType
      (s, i, row, c) => {
        val text = new Array[Byte](IsoBytes.TimestampLength + (if (isInstant) 1 else 0))
        iso.timestamp(row.getLong(c), text, 0)
        if (isInstant) text(IsoBytes.TimestampLength) = 'Z'
        s.setBytes(i, text)
      }
    case _ if nul == NulCharacter.Error => (s, i, row, c) => s.setBytes(i, row.getBinary(c))
    case _ => (s, i, row, c) => s.setBytes(i, nul(row.getUTF8String(c).toString).getBytes(UTF_8))
  }

  private def plain(column: BoundColumn, nul: NulCharacter): Binder = column.field.dataType match {
    case BooleanType => (s, i, row, c) => s.setInt(i, if (row.getBoolean(c)) 1 else 0)
    case FloatType   => (s, i, row, c) => s.setDouble(i, row.getFloat(c).toDouble)
    case d: DecimalType =>
      (s, i, row, c) => s.setString(i, row.getDecimal(c, d.precision, d.scale).toJavaBigDecimal.toPlainString)
    case DateType         => (s, i, row, c) => s.setString(i, IsoTime.date(row.getInt(c)))
    case TimestampType    => (s, i, row, c) => s.setString(i, IsoTime.timestamp(row.getLong(c), "Z"))
    case TimestampNTZType => (s, i, row, c) => s.setString(i, IsoTime.timestamp(row.getLong(c), ""))
    case dataType if SqliteType.isNested(dataType) =>
      val json = new JsonColumn(column, nul)
      (s, i, row, _) => s.setString(i, json.text(row))
    case other => Binder.plain(other, nul)
  }

  private val NotANumber = "SQLite has no NaN and would store NULL"
}
