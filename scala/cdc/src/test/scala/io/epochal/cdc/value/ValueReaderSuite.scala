package io.epochal.cdc.value

import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** The Spark types of columns. No server. */
final class ValueReaderSuite extends AnyFunSuite {

  private def kind(name: String, modifier: Int = -1, shape: PostgresType.Shape = PostgresType.Plain): PostgresType =
    PostgresType(name, modifier, s"$name!", shape)

  /** As in `atttypmod`. */
  private def numeric(precision: Int, scale: Int): Int = (precision << 16 | (scale & 0x7ff)) + 4

  test("numeric is DECIMAL where one holds all its numbers, otherwise STRING") {
    def of(modifier: Int): DataType = ValueReader.sparkType(kind("numeric", modifier)).get
    assert(of(-1) == StringType)
    Seq((1, 0), (10, 2), (38, 0), (38, 38), (5, 5)).foreach { case (precision, scale) =>
      assert(of(numeric(precision, scale)) == DecimalType(precision, scale))
    }
    Seq((39, 0), (1000, 10), (5, -2), (3, 5), (1000, -1000)).foreach { case (precision, scale) =>
      assert(of(numeric(precision, scale)) == StringType)
    }
  }

  test("a type that merely shares a known type's name is a STRING") {
    assert(ValueReader.sparkType(kind("public.int4")) == Some(StringType))
    assert(ValueReader.sparkType(kind("public.regclass")) == Some(StringType))
  }

  private val columns = Seq(
    PostgresColumn("id", -1, kind("int4")),
    PostgresColumn("the class", -1, kind("regclass")),
    PostgresColumn("at", -1, kind("timestamptz")))

  test("a column without a Spark type is refused by name, and read as STRING by the schema of the error") {
    val error = intercept[EpochalException](ValueReader.schema("public.t", columns))
    assert(error.condition == Conditions.ColumnUnsupported)
    assert(
      error.getMessage == "[EPOCHAL.COLUMN_UNSUPPORTED] The column 'the class' of public.t is regclass!, which prints the current " +
        "name of another object. Hint: Read it as STRING, .schema(\"id INT,`the class` STRING,at TIMESTAMP\"), " +
        "or leave it out.")
    val schema = StructType.fromDDL("id INT,`the class` STRING,at TIMESTAMP")
    assert(!new RowReader("public.t", columns, schema).hasBinary)
    assert(new RowReader("public.t", columns, StructType.fromDDL("at TIMESTAMP, id INT")).hasBinary)
    intercept[EpochalException](
      ValueReader
        .schema("t", Seq(columns(1).copy(kind = kind("_regclass", shape = PostgresType.Elements(kind("regclass")))))))
  }

  test("a type that is neither a column's own nor STRING is refused with both") {
    Seq(
      ("int4", LongType, "INT or STRING"),
      ("text", IntegerType, "STRING"),
      ("timestamptz", TimestampNTZType, "TIMESTAMP or STRING"),
      ("int4", DecimalType(10, 0), "INT or STRING"),
      ("interval", CalendarIntervalType, "STRING"),
      ("int4", ArrayType(IntegerType), "INT or STRING")).foreach { case (name, to, types) =>
      val column = PostgresColumn("c", -1, kind(name))
      val error = intercept[EpochalException](ValueReader.of("t", column, to))
      assert(error.condition == Conditions.ColumnUnsupported)
      assert(error.getMessage.endsWith(s"which cannot be read as ${to.sql}. Hint: Read it as $types in the schema."))
    }
  }

  test("any column is read as STRING, any numeric as a DECIMAL, and arrays accordingly") {
    val shapes =
      Seq(PostgresType.Enum(Nil), PostgresType.Fields(Nil), PostgresType.Elements(kind("int4")))
    val all = shapes.map(kind("x", -1, _)) ++ Seq("int4", "bytea", "interval", "regclass", "public.other").map(kind(_))
    all.foreach(of => ValueReader.of("t", PostgresColumn("c", -1, of), StringType))
    val numerics = kind("_numeric", shape = PostgresType.Elements(kind("numeric")))
    Seq(ArrayType(DecimalType(20, 3)), ArrayType(StringType), StringType).foreach(to =>
      ValueReader.of("t", PostgresColumn("c", -1, numerics), to))
  }
}
