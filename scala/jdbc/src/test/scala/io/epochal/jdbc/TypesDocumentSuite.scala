package io.epochal.jdbc

import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.jdbc.database.TypeRules
import io.epochal.jdbc.generic.GenericType
import io.epochal.jdbc.mysql.MysqlType
import io.epochal.jdbc.postgres.PostgresTypeRules
import io.epochal.jdbc.sqlite.SqliteType
import io.epochal.kit.database.PostgresType

/** The tables of docs/types.md against the code. */
final class TypesDocumentSuite extends AnyFunSuite {

  /** Some of the types whose texts the server parses. */
  private def parsed: Seq[String] = Seq(
    "time",
    "timetz",
    "interval",
    "xml",
    "money",
    "bit",
    "macaddr",
    "point",
    "int4range",
    "tsvector",
    "oid",
    "public.hstore")

  private val columnTypes: Map[String, PostgresType] = {
    val aliases = Map(
      "boolean" -> "bool",
      "smallint" -> "int2",
      "integer" -> "int4",
      "bigint" -> "int8",
      "real" -> "float4",
      "double precision" -> "float8",
      "char" -> "bpchar",
      "timestamp with time zone" -> "timestamptz",
      "timestamp without time zone" -> "timestamp"
    )
    val same = Seq(
      "numeric",
      "text",
      "varchar",
      "citext",
      "name",
      "uuid",
      "json",
      "jsonb",
      "inet",
      "cidr",
      "bytea",
      "date"
    ).map(n => n -> n)
    (aliases ++ same ++ parsed.map(name => name -> name)).map { case (name, typname) =>
      name -> PostgresType(typname, -1, name)
    } +
      ("an enum" -> PostgresType("public.mood", -1, "mood", PostgresType.Enum(Seq("sad")))) +
      ("public.uuid" -> PostgresType("public.uuid", -1, "public.uuid", PostgresType.Fields(Nil)))
  }

  private def arrayOf(element: PostgresType): PostgresType =
    PostgresType(s"_${element.name}", -1, s"${element.declaration}[]", PostgresType.Elements(element))

  private def rows(heading: String): Seq[Seq[String]] = {
    val document = Paths.get(System.getProperty("epochal.root", "."), "docs", "types.md")
    val after = Files.readAllLines(document).asScala.dropWhile(_ != heading).drop(1).takeWhile(!_.startsWith("## "))
    after
      .dropWhile(!_.startsWith("|"))
      .takeWhile(_.startsWith("|"))
      .drop(2)
      .toSeq
      .map(_.split('|').drop(1).map(_.trim).toSeq)
  }

  private def sparkTypes(cell: String): Seq[DataType] = cell.split(", ").toSeq.map {
    case "STRUCT"  => new StructType().add("x", IntegerType)
    case "MAP"     => MapType(StringType, IntegerType)
    case "ARRAY"   => ArrayType(IntegerType)
    case "TIME"    => TimeType(6)
    case "CHAR"    => CharType(5)
    case "VARCHAR" => VarcharType(5)
    case scalar    => CatalystSqlParser.parseDataType(filled(scalar))
  }

  private def filled(name: String): String = name.replace("p,s", "6,2").replace("(p)", "(6)").replace("(n)", "(5)")

  /** The column types that a row lists for its types; "as STRING" stands for those of the STRING row. */
  private def homesOf(row: Seq[String], table: Seq[Seq[String]])(plain: String => String): Set[String] = {
    val others =
      if (row(2).startsWith("as ")) homesOf(table.find(_.head == row(2).stripPrefix("as ")).get, table)(plain)
      else
        row(2)
          .split(", ")
          .filter(_.nonEmpty)
          .flatMap(name => if (name.startsWith("and others")) parsed else Seq(name))
          .toSet
    others + plain(row(1))
  }

  private val scalars = rows("## PostgreSQL").takeWhile(!_.head.startsWith("STRUCT"))

  test("each Spark type gets the documented type, and is accepted by the documented columns and no others") {
    assert(scalars.flatMap(row => sparkTypes(row.head)).size == 19)
    (scalars :+ rows("## PostgreSQL").find(_.head.startsWith("STRUCT")).get).foreach { row =>
      val homes = homesOf(row, scalars)(_.replaceFirst("\\(.*", ""))
      sparkTypes(row.head).foreach { kind =>
        assert(PostgresTypeRules.declare(kind).contains(filled(row(1))), kind)
        val found = columnTypes.collect { case (name, to) if PostgresTypeRules.fits(kind, to).isRight => name }
        assert(found.toSet == homes, kind)
      }
    }
  }

  test("arrays are accepted where their elements are, and as JSON") {
    scalars.flatMap(row => sparkTypes(row.head)).foreach { kind =>
      val array = ArrayType(kind)
      assert(PostgresTypeRules.declare(array) == PostgresTypeRules.declare(kind).map(_ + "[]"))
      columnTypes.values.foreach { to =>
        val isElement = PostgresTypeRules.fits(kind, to).isRight && !PostgresTypeRules.parses(kind, to)
        assert(PostgresTypeRules.fits(array, arrayOf(to)).isRight == isElement, s"$array $to")
        val isJson = Set("json", "jsonb")(to.name) && kind != CalendarIntervalType
        assert(PostgresTypeRules.fits(array, to).isRight == isJson, s"$array $to")
      }
    }
    Seq(ArrayType(ArrayType(IntegerType)), ArrayType(new StructType().add("x", IntegerType)), ArrayType(VariantType))
      .foreach { kind =>
        assert(PostgresTypeRules.declare(kind).contains("jsonb"))
        assert(PostgresTypeRules.fits(kind, columnTypes("json")).isRight)
        assert(PostgresTypeRules.fits(kind, arrayOf(columnTypes("jsonb"))).isRight)
      }
  }

  test("an undocumented type is refused") {
    val place = GeometryType(4326)
    val refused =
      Seq[DataType](NullType, place, GeographyType(4326), ArrayType(place), new StructType().add("x", place))
    for (dialect <- Seq[TypeRules](PostgresTypeRules, SqliteType, MysqlType, GenericType); kind <- refused)
      assert(dialect.declare(kind).isEmpty, s"$dialect $kind")
  }

  test("SQLite stores the documented forms") {
    val table = rows("## SQLite")
    table.init.foreach { row =>
      sparkTypes(row.head).foreach { kind =>
        assert(SqliteType.declare(kind).contains(row(1).takeWhile(_.isUpper)), kind)
      }
    }
    Seq(TimeType(6), DayTimeIntervalType(), YearMonthIntervalType(), CalendarIntervalType).foreach(kind =>
      assert(SqliteType.declare(kind).isEmpty))
  }

  test("MySQL creates the documented types, and accepts the documented ones and no others") {
    val table = rows("## MySQL and MariaDB")
    assert(table.flatMap(row => sparkTypes(row.head)).size == 15)
    val columns = table
      .flatMap(homesOf(_, table)(bare))
      .distinct
      .filter(_ != "boolean")
      .map(name => name -> MysqlType(name, name, None, None, 65, 30, 6, null))
    table.foreach { row =>
      val homes = homesOf(row, table)(bare) - "boolean"
      sparkTypes(row.head).foreach { kind =>
        assert(MysqlType.declare(kind).exists(sql => bare(sql) == bare(row(1))), kind)
        val found = columns.collect { case (name, to) if MysqlType.fits(kind, to).isRight => name }
        assert(found.toSet == homes, kind)
      }
    }
  }

  private def bare(sql: String): String = sql.takeWhile(_.isLetter)

  test("other databases create and accept the documented types") {
    val table = rows("## Any other database")
    assert(table.flatMap(row => sparkTypes(row.head)).size == 15)
    table.foreach { row =>
      row.head.split(", ").foreach { name =>
        val declared = if (row(1) == "the same") name else row(1)
        sparkTypes(name).foreach(kind => assert(GenericType.declare(kind).contains(filled(declared)), kind))
      }
    }
  }
}
