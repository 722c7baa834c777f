package io.epochal.spark.sink.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.spark.sink.jdbc.ColumnType

/** A PostgreSQL type.
  *
  * @param name
  *   `pg_type.typname` of the type, or of the type under a domain
  * @param modifier
  *   `atttypmod`: length, precision and scale, by type; -1 when there is none
  * @param declared
  *   as `format_type` spells it
  */
final case class PostgresType(name: String, modifier: Int, declared: String) extends ColumnType {

  /** Characters of a varchar(n) or char(n). */
  def length: Option[Int] = Option.when(modifier >= Header)(modifier - Header)

  /** Precision and scale of a numeric(p,s); the scale has 11 bits and a sign. */
  def numeric: Option[(Int, Int)] = Option.when(modifier >= Header) {
    val packed = modifier - Header
    ((packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024)
  }

  /** Digits of a second that a timestamp(p) keeps. */
  def fraction: Int = if (modifier < 0) 6 else modifier

  private def Header = 4
}

/** Which Spark types go where. */
object PostgresType {

  def declare(dataType: DataType): Option[String] = Option(dataType).collect {
    case BooleanType          => "boolean"
    case ByteType | ShortType => "smallint"
    case IntegerType          => "integer"
    case LongType             => "bigint"
    case FloatType            => "real"
    case DoubleType           => "double precision"
    case d: DecimalType       => s"numeric(${d.precision},${d.scale})"
    case c: CharType          => s"char(${c.length})"
    case v: VarcharType       => s"varchar(${v.length})"
    case _: StringType        => "text"
    case BinaryType           => "bytea"
    case DateType             => "date"
    case TimestampType        => "timestamp with time zone"
    case TimestampNTZType     => "timestamp without time zone"
  }

  /** The types that take every value of a Spark type, or of which the task refuses the values that do not fit. */
  private def homes(dataType: DataType): Set[String] = dataType match {
    case BooleanType                                  => Set("bool")
    case ByteType | ShortType                         => Set("int2", "int4", "int8", "float4", "float8", "numeric")
    case IntegerType                                  => Set("int4", "int8", "float8", "numeric")
    case LongType                                     => Set("int8", "numeric")
    case FloatType                                    => Set("float4", "float8")
    case DoubleType                                   => Set("float8")
    case _: DecimalType                               => Set("numeric")
    case _: StringType | _: CharType | _: VarcharType => Set("text", "varchar", "bpchar")
    case BinaryType                                   => Set("bytea")
    case DateType                                     => Set("date")
    case TimestampType                                => Set("timestamptz")
    case TimestampNTZType                             => Set("timestamp")
    case _                                            => Set.empty
  }

  def fits(dataType: DataType, columnType: PostgresType): Either[Option[String], Unit] =
    Either.cond(homes(dataType)(columnType.name), (), suggestion(columnType))

  /** The Spark type that the column would take. */
  private def suggestion(columnType: PostgresType): Option[String] = columnType.name match {
    case "bool"    => Some("BOOLEAN")
    case "int2"    => Some("SMALLINT")
    case "int4"    => Some("INT")
    case "int8"    => Some("BIGINT")
    case "float4"  => Some("FLOAT")
    case "float8"  => Some("DOUBLE")
    case "numeric" => Some(columnType.numeric.fold("DECIMAL(38,18)") { case (p, s) => s"DECIMAL($p,$s)" })
    case "text" | "varchar" | "bpchar" => Some("STRING")
    case "bytea"                       => Some("BINARY")
    case "date"                        => Some("DATE")
    case "timestamptz"                 => Some("TIMESTAMP")
    case "timestamp"                   => Some("TIMESTAMP_NTZ")
    case _                             => None
  }
}
