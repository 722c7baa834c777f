package io.epochal.jdbc.postgres

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.{ColumnType, TypeRules}
import io.epochal.jdbc.json.JsonValue
import io.epochal.jdbc.json.SparkTime
import io.epochal.jdbc.row
import io.epochal.kit.database.QualifiedName

/** A PostgreSQL type.
  *
  * @param name
  *   `pg_type.typname` of the type, or of a domain's innermost base type; qualified by its schema unless that is `pg_catalog`
  * @param modifier
  *   `atttypmod`: length, precision and scale, depending on the type; -1 if there is none
  * @param declared
  *   as `format_type` prints it
  */
final case class PostgresType(
    name: String,
    modifier: Int,
    declared: String,
    shape: PostgresType.Shape = PostgresType.Plain
) extends ColumnType {

  /** Characters of a varchar(n) or char(n). */
  def length: Option[Int] = Option.when(modifier >= Header)(modifier - Header)

  /** Precision and scale of a numeric(p,s); the scale has 11 bits and a sign. */
  def numeric: Option[(Int, Int)] = Option.when(modifier >= Header) {
    val packed = modifier - Header
    ((packed >> 16) & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024)
  }

  /** Fractional second digits that a timestamp(p) or time(p) keeps. */
  def fraction: Int = if (modifier < 0) 6 else modifier

  /** Fractional second digits that an interval keeps: the lower half of its modifier. */
  def intervalFraction: Int = if (modifier < 0 || (modifier & 0xffff) == 0xffff) 6 else modifier & 0xffff

  /** The type itself in SQL, without its modifier. */
  def sql: String = {
    val (schema, own) = name.splitAt(name.lastIndexOf('.'))
    PostgresDialect.quote(QualifiedName(if (schema.isEmpty) "pg_catalog" else schema, own.stripPrefix(".")))
  }

  /** Bit mask of the fields that an interval keeps: the upper half of its modifier. */
  def intervalFields: Int = if (modifier < 0) PostgresType.AllFields else (modifier >> 16) & PostgresType.AllFields

  private def Header = 4
}

/** Which Spark types each column type can store. */
object PostgresType extends TypeRules {

  sealed trait Shape extends Serializable
  case object Plain extends Shape

  /** A composite type. */
  case object Row extends Shape

  /** @param labels
    *   at the start of the query
    */
  final case class Enum(labels: Seq[String]) extends Shape

  /** @param elementOid
    *   of the element's own type, which may be a domain
    * @param elementRequired
    *   the element's domain rejects NULL
    */
  final case class Array(element: PostgresType, elementOid: Long, elementRequired: Boolean) extends Shape

  private val AllFields = 0x7fff
  private val YearsOnly = 1 << 2
  private val Seconds = 1 << 12

  override def declareKey(dataType: DataType): Option[String] = dataType match {
    case c: CharType => Some(s"varchar(${c.length})")
    case other       => declare(other)
  }

  override val exactKey = "type text or varchar, and a deterministic collation such as the default or \"C\""

  override def declare(dataType: DataType): Option[String] = scalar(dataType).orElse(dataType match {
    case ArrayType(element, _) if scalar(element).isDefined      => scalar(element).map(_ + "[]")
    case _: ArrayType | _: MapType | _: StructType | VariantType => Option.when(JsonValue.supports(dataType))("jsonb")
    case _                                                       => None
  })

  private def scalar(dataType: DataType): Option[String] = Option(dataType).collect {
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
    case _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType => "interval"
    case time if SparkTime.is(time) => s"time(${math.min(SparkTime.precision(time).get, 6)})"
  }

  /** The scalar types that store every value of a Spark type, or for which the task refuses the values that do not fit. */
  private def homes(dataType: DataType): Set[String] = dataType match {
    case BooleanType                                  => Set("bool")
    case ByteType | ShortType                         => Set("int2", "int4", "int8", "float4", "float8", "numeric")
    case IntegerType                                  => Set("int4", "int8", "float8", "numeric")
    case LongType                                     => Set("int8", "numeric")
    case FloatType                                    => Set("float4", "float8")
    case DoubleType                                   => Set("float8")
    case _: DecimalType                               => Set("numeric")
    case _: StringType | _: CharType | _: VarcharType => Texts
    case BinaryType                                   => Set("bytea")
    case DateType                                     => Set("date")
    case TimestampType                                => Set("timestamptz")
    case TimestampNTZType                             => Set("timestamp")
    case _: DayTimeIntervalType | _: YearMonthIntervalType | CalendarIntervalType => Set("interval")
    case time if SparkTime.is(time)                                               => Set("time")
    case nested if JsonValue.supports(nested)                                     => Set("jsonb", "json")
    case _                                                                        => Set.empty
  }

  /** Types that texts go into, parsed by the task. */
  private val Texts =
    Set("text", "varchar", "bpchar", "citext", "name", "uuid", "json", "jsonb", "inet", "cidr", "numeric")

  /** Types that values of other Spark types go into, to which the query can cast its texts. */
  private val Castable =
    Set("bool", "int2", "int4", "int8", "float4", "float8", "bytea", "date", "timestamp", "timestamptz")

  /** Texts for any other type, which the server parses as in a literal. Excluded are types that would silently cut them: `"char"`,
    * and times and intervals declared with fewer digits or fields.
    */
  override def parses(dataType: DataType, columnType: ColumnType): Boolean = columnType match {
    case to @ PostgresType(name, _, _, Plain) if row.Texts.is(dataType) =>
      !Texts(name) && !Castable(name) && name != "char" && (name match {
        case "time" | "timetz" => to.fraction == 6
        case "interval"        => to.intervalFraction == 6 && to.intervalFields == AllFields
        case _                 => true
      })
    case _ => false
  }

  override def takes(dataType: DataType, columnType: ColumnType): Boolean = (dataType, columnType) match {
    case (ArrayType(element, _), PostgresType(_, _, _, array: Array)) =>
      takes(element, array.element) && !parses(element, array.element)
    case (_: StringType | _: CharType | _: VarcharType, PostgresType(_, _, _, Enum(_))) => true
    case (_, to @ PostgresType(name, _, _, Plain)) =>
      homes(dataType)(name) && (name != "interval" || keepsFields(dataType, to)) || parses(dataType, to)
    case _ => false
  }

  /** An interval declared with fields drops everything smaller than its last field, and one of years alone the months. */
  private def keepsFields(dataType: DataType, to: PostgresType): Boolean = dataType match {
    case _: YearMonthIntervalType => to.intervalFields != YearsOnly
    case _                        => (to.intervalFields & Seconds) != 0
  }

  override protected def casts(columnType: ColumnType): Seq[DataType] = columnType match {
    case PostgresType(_, _, _, array: Array) => casts(array.element).map(ArrayType(_))
    case column: PostgresType if column.name == "numeric" =>
      Seq(column.numeric.fold(DecimalType.SYSTEM_DEFAULT) { case (precision, scale) => decimal(precision, scale) })
    case _ => super.casts(columnType) ++ Seq(DayTimeIntervalType(), YearMonthIntervalType())
  }

  /** Whether the column type has an order that equals Spark's for the query's values. */
  override def sorts(dataType: DataType, columnType: ColumnType): Boolean = columnType match {
    case PostgresType(name, _, _, Plain) =>
      !Unsorted(name) && !(row.Texts.is(dataType) && name == "numeric") && !parses(dataType, columnType) &&
      (name != "interval" || dataType != CalendarIntervalType)
    case _ => false
  }

  /** Why the type treats as equal texts that Spark distinguishes: citext ignores case, character(n) trailing spaces. */
  def loose(columnType: ColumnType): Option[String] = columnType match {
    case PostgresType(name, _, declared, Plain) if Set("citext", "bpchar")(name) => Some(s"type $declared")
    case PostgresType(_, _, _, Array(element, _, _))                             => loose(element)
    case _                                                                       => None
  }

  /** Whether a collation sorts columns of the type. */
  def isText(columnType: ColumnType): Boolean = columnType match {
    case PostgresType(name, _, _, Plain) => Set("text", "varchar", "bpchar", "name")(name)
    case _                               => false
  }

  private val Unsorted = Set("json", "jsonb", "inet", "cidr", "citext")
}
