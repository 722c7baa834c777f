package io.epochal.jdbc.generic

import java.sql.Types
import java.time.{Instant, LocalDate, LocalDateTime, ZoneOffset}

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.{BoundColumn, ColumnType, TypeRules}
import io.epochal.jdbc.insert.{Binder, ValueCheck, ValueRules}
import io.epochal.jdbc.row.NulCharacter

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
  override def declared: String = number match {
    case Types.DECIMAL | Types.NUMERIC                     => s"$typeName($size,$scale)"
    case Types.VARCHAR | Types.CHAR if size < Int.MaxValue => s"$typeName($size)"
    case _                                                 => typeName
  }

  def digitsBeforePoint: Int = size - scale
}

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
