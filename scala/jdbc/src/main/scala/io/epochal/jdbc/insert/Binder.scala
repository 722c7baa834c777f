package io.epochal.jdbc.insert

import java.sql.PreparedStatement

import org.apache.spark.sql.types._

import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.spark.memory.BinaryRow

/** Binds one parameter to a non-NULL value. */
trait Binder {
  def bind(statement: PreparedStatement, parameter: Int, row: BinaryRow, ordinal: Int): Unit
}

object Binder {

  /** Binds numbers, bytes and texts by the setters that every driver implements. */
  def plain(dataType: DataType, nul: NulCharacter): Binder = dataType match {
    case ByteType    => (s, i, row, c) => s.setInt(i, row.getByte(c).toInt)
    case ShortType   => (s, i, row, c) => s.setInt(i, row.getShort(c).toInt)
    case IntegerType => (s, i, row, c) => s.setInt(i, row.getInt(c))
    case LongType    => (s, i, row, c) => s.setLong(i, row.getLong(c))
    case FloatType   => (s, i, row, c) => s.setFloat(i, row.getFloat(c))
    case DoubleType  => (s, i, row, c) => s.setDouble(i, row.getDouble(c))
    case d: DecimalType =>
      (s, i, row, c) => s.setBigDecimal(i, row.getDecimal(c, d.precision, d.scale).toJavaBigDecimal)
    case BinaryType => (s, i, row, c) => s.setBytes(i, row.getBinary(c))
    case _          => (s, i, row, c) => s.setString(i, nul(row.getUTF8String(c).toString))
  }
}
