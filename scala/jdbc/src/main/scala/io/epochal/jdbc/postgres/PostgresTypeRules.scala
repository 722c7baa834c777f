package io.epochal.jdbc.postgres

import java.sql.Connection

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.TypeRules
import io.epochal.jdbc.json.JsonValue
import io.epochal.jdbc.json.SparkTime
import io.epochal.jdbc.row
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{ColumnType, PostgresColumn, PostgresType, Sql}
import io.epochal.kit.record.SourceColumn

/** Which Spark types each column type can store. */
object PostgresTypeRules extends TypeRules {
  import PostgresType._

  private val YearsOnly = 1 << 2
  private val Seconds = 1 << 12

  override def declareKey(dataType: DataType): Option[String] = dataType match {
    case c: CharType => Some(s"varchar(${c.length})")
    case other       => declare(other)
  }

  /** Only types of PostgreSQL itself: another role may have made the target's type of that name. */
  override def declareLike(connection: Connection, columns: Seq[(StructField, Boolean)]): Map[StructField, String] = {
    def isLike(dataType: DataType, kind: PostgresType, isKey: Boolean): Boolean =
      kind.leaf.shape == Plain && takes(dataType, kind) && !Unlike(kind.leaf.name) &&
        !(isKey && row.Texts.is(dataType) && !ExactTexts(kind.name)) &&
        kind.leaf.numeric.forall { case (precision, scale) =>
          kind.leaf.name != "numeric" || 0 <= scale && scale <= precision
        }
    // Older servers refuse some modifiers.
    val types = columns.zipWithIndex
      .flatMap { case ((field, _), i) =>
        SourceColumn.of(field).map(c => (i, bare(c.declaration), c.modifier))
      }
      .filterNot(_._2.contains('.'))
    val ofServer =
      if (types.isEmpty) Map.empty[Int, Seq[PostgresColumn]]
      else {
        val rows = types.map { case (i, name, modifier) => sql"($i, $name, $modifier)" }
        PostgresColumn.read(
          connection,
          sql"""SELECT ARRAY[c.i, 1] AS path, 'like'::name AS field, t.oid, c.modifier
               |  FROM (VALUES ${Sql.join(rows)}) AS c (i, name, modifier)
               |  CROSS JOIN LATERAL (SELECT pg_catalog.to_regtype(c.name)::oid AS oid) AS t WHERE t.oid < 10000"""
        )
      }
    columns.zipWithIndex.flatMap { case ((field, isKey), i) =>
      ofServer.getOrElse(i, Nil).map(_.kind).find(isLike(field.dataType, _, isKey)).map(field -> _.declaration)
    }.toMap
  }

  override def widening(field: StructField, columnType: ColumnType): Option[String] = {
    val from = columnType.asInstanceOf[PostgresType]
    val (base, modifier, declaration) = SourceColumn
      .of(field)
      .map(column => (bare(column.declaration), column.modifier, column.declaration))
      .orElse(declare(field.dataType).map { declaration =>
        val modifier = field.dataType match {
          case d: DecimalType => (d.precision << 16 | d.scale) + 4
          case v: VarcharType => v.length + 4
          case _              => -1
        }
        (bare(declaration), modifier, declaration)
      })
      .getOrElse(("", -1, ""))
    val to = from.copy(declaration = declaration, modifier = modifier)
    def isLonger = modifier == -1 || from.modifier >= 0 && modifier > from.modifier
    val isWider = from.shape == Plain && from.base.isEmpty && ((bare(from.declaration), base) match {
      case ("numeric", "numeric") =>
        from.numeric.exists { case (precision, scale) =>
          modifier != from.modifier && to.numeric.forall { case (digits, places) =>
            places >= scale && digits - places >= precision - scale
          }
        }
      case (one, other) if one == other  => modifier != from.modifier && Lengths(one) && isLonger
      case ("character varying", "text") => from.modifier >= 0
      case (one, other) => Ladders.exists(types => types.dropWhile(_ != one).drop(1).contains(other)) && modifier == -1
    })
    Option.when(isWider)(declaration)
  }

  /** Without a modifier. */
  private def bare(declaration: String) = declaration.replaceAll("\\([^)]*\\)", "")

  /** Types, each with all values of those before it. */
  private val Ladders = Seq(Seq("smallint", "integer", "bigint", "numeric"), Seq("real", "double precision"))

  /** Types whose modifier is a number of characters or digits. */
  private val Lengths = Set("character varying", "timestamp without time zone", "timestamp with time zone")

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
  override def parses(dataType: DataType, columnType: ColumnType): Boolean = {
    val to = columnType.asInstanceOf[PostgresType]
    to.shape == Plain && row.Texts.is(dataType) && !Texts(to.name) && !Castable(to.name) && (to.name match {
      case "char"            => false
      case "time" | "timetz" => to.fraction == 6
      case "interval"        => to.intervalFraction == 6 && to.intervalFields == AllFields
      case _                 => true
    })
  }

  override def takes(dataType: DataType, columnType: ColumnType): Boolean = {
    val to = columnType.asInstanceOf[PostgresType]
    (dataType, to.shape) match {
      case (ArrayType(element, _), Elements(of, _))                => takes(element, of) && !parses(element, of)
      case (_: StringType | _: CharType | _: VarcharType, Enum(_)) => true
      case (_, Plain) =>
        homes(dataType)(to.name) && (to.name != "interval" || keepsFields(dataType, to)) || parses(dataType, to)
      case _ => false
    }
  }

  /** An interval declared with fields drops everything smaller than its last field, and one of years alone the months. */
  private def keepsFields(dataType: DataType, to: PostgresType): Boolean = dataType match {
    case _: YearMonthIntervalType => to.intervalFields != YearsOnly
    case _                        => (to.intervalFields & Seconds) != 0
  }

  override protected def casts(columnType: ColumnType): Seq[DataType] = {
    val to = columnType.asInstanceOf[PostgresType]
    to.shape match {
      case Elements(of, _) => casts(of).map(ArrayType(_))
      case _ if to.name == "numeric" =>
        Seq(to.numeric.fold(DecimalType.SYSTEM_DEFAULT) { case (precision, scale) => decimal(precision, scale) })
      case _ => super.casts(to) ++ Seq(DayTimeIntervalType(), YearMonthIntervalType())
    }
  }

  /** Whether the column type has an order that equals Spark's for the query's values. */
  override def sorts(dataType: DataType, columnType: ColumnType): Boolean = {
    val to = columnType.asInstanceOf[PostgresType]
    to.shape == Plain && !Unsorted(to.name) && !(row.Texts.is(dataType) && to.name == "numeric") &&
    !parses(dataType, to) && (to.name != "interval" || dataType != CalendarIntervalType)
  }

  /** Why the type treats as equal texts that Spark distinguishes: citext ignores case, character(n) trailing spaces. */
  def loose(columnType: ColumnType): Option[String] = {
    val to = columnType.asInstanceOf[PostgresType]
    to.shape match {
      case Elements(of, _) => loose(of)
      case _               => Option.when(Set("citext", "bpchar")(to.name))(s"type ${to.declaration}")
    }
  }

  /** Whether a collation sorts columns of the type. */
  def isText(columnType: ColumnType): Boolean =
    Set("text", "varchar", "bpchar", "name")(columnType.asInstanceOf[PostgresType].name)

  /** Types whose texts mean something else on another server or under other settings, or which take texts that the sink refuses. */
  private val Unlike = Set("money", "aclitem", "json", "regclass", "regcollation", "regconfig", "regdictionary") ++
    Set("regnamespace", "regoper", "regoperator", "regproc", "regprocedure", "regrole", "regtype")

  /** Types that compare texts as Spark does. */
  private val ExactTexts = Set("text", "varchar", "name", "uuid")

  private val Unsorted = Set("json", "jsonb", "inet", "cidr", "citext")
}
