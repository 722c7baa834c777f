package io.epochal.jdbc.generic

import java.sql.Types

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.TypeRules
import io.epochal.kit.database.ColumnType

/** Which Spark types each column type can store. */
class GenericTypes extends TypeRules {

  /** Types of standard SQL. */
  override def declare(dataType: DataType): Option[String] = Option(dataType).collect {
    case BooleanType          => "BOOLEAN"
    case ByteType | ShortType => "SMALLINT"
    case IntegerType          => "INTEGER"
    case LongType             => "BIGINT"
    case FloatType            => "REAL"
    case DoubleType           => "DOUBLE PRECISION"
    case d: DecimalType       => s"DECIMAL(${d.precision},${d.scale})"
    case c: CharType          => s"VARCHAR(${c.length})"
    case v: VarcharType       => s"VARCHAR(${v.length})"
    case _: StringType        => "CLOB"
    case BinaryType           => "BLOB"
    case DateType             => "DATE"
    case TimestampType        => "TIMESTAMP(6) WITH TIME ZONE"
    case TimestampNTZType     => "TIMESTAMP(6)"
  }

  /** Large objects cannot be keys. */
  override def declareKey(dataType: DataType): Option[String] = dataType match {
    case _: CharType | _: VarcharType => declare(dataType)
    case _: StringType                => Some("VARCHAR(255)")
    case BinaryType                   => Some("VARBINARY(255)")
    case _                            => declare(dataType)
  }

  private val Texts =
    Set(Types.VARCHAR, Types.LONGVARCHAR, Types.CLOB, Types.NVARCHAR, Types.LONGNVARCHAR, Types.NCLOB)
  private val Numbers = Set(Types.DECIMAL, Types.NUMERIC)

  override def takes(dataType: DataType, columnType: ColumnType): Boolean = {
    val column = columnType.asInstanceOf[GenericType]
    def in(numbers: Int*): Boolean = numbers.contains(column.number)
    def digits(count: Int): Boolean = Numbers(column.number) && column.digitsBeforePoint >= count
    dataType match {
      case BooleanType    => in(Types.BOOLEAN, Types.BIT)
      case ByteType       => in(Types.TINYINT, Types.SMALLINT, Types.INTEGER, Types.BIGINT) || digits(3)
      case ShortType      => in(Types.SMALLINT, Types.INTEGER, Types.BIGINT) || digits(5)
      case IntegerType    => in(Types.INTEGER, Types.BIGINT) || digits(10)
      case LongType       => in(Types.BIGINT) || digits(19)
      case FloatType      => in(Types.REAL, Types.FLOAT, Types.DOUBLE)
      case DoubleType     => in(Types.FLOAT, Types.DOUBLE)
      case d: DecimalType => digits(d.precision - d.scale) && d.scale <= column.scale
      case _: StringType | _: CharType | _: VarcharType => Texts(column.number)
      case BinaryType                                   => in(Types.VARBINARY, Types.LONGVARBINARY, Types.BLOB)
      case DateType                                     => in(Types.DATE)
      case TimestampType                                => in(Types.TIMESTAMP_WITH_TIMEZONE)
      case TimestampNTZType                             => in(Types.TIMESTAMP)
      case _                                            => false
    }
  }

  override protected def casts(columnType: ColumnType): Seq[DataType] = columnType match {
    case GenericType(_, number, size, scale) if Numbers(number) => Seq(decimal(size, scale))
    case _                                                      => super.casts(columnType)
  }
}
