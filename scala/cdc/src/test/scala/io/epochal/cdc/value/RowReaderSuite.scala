package io.epochal.cdc.value

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.pgoutput.TestTuple
import io.epochal.cdc.pgoutput.TestTuple.Unsent
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** Rows from the bytes of pgoutput. No server. */
final class RowReaderSuite extends AnyFunSuite {

  private def column(name: String, kind: String): PostgresColumn =
    PostgresColumn(name, -1, PostgresType(kind, -1, kind))
  private val columns =
    Seq(column("id", "int4"), column("unread", "interval"), column("word", "text"), column("day", "date"))
  private val schema = StructType.fromDDL("day DATE, _change_type STRING, word STRING, id INT, added INT")
  private def text(value: String): UTF8String = UTF8String.fromString(value)

  private def fresh: Array[Any] = Array.fill(schema.size)("stale")

  test("values go to the query's columns by name, those the table lacks are NULL, and the offset behind is returned") {
    val reader = new RowReader("t", columns, schema)
    val row = fresh
    val bytes = Array[Byte](9, 9) ++ TestTuple.of(7, "1 day", "é", "1970-01-03") ++ Array[Byte](9)
    assert(reader.tuple(bytes, 2, row) == bytes.length - 1)
    assert(row.toSeq == Seq[Any](2, null, text("é"), 7, null) && reader.unchanged == null)
    reader.tuple(TestTuple.of(Array[Byte](0, 0, 1, 0), null, Array[Byte]('x'), null), 0, row)
    assert(row.toSeq == Seq[Any](null, null, text("x"), 256, null))
  }

  test("unchanged values are NULL and named, until the row before the update completes them") {
    val reader = new RowReader("t", columns, schema)
    val before = fresh
    reader.tuple(TestTuple.of(7, "1 day", "long", "1970-01-03"), 0, before)
    val row = fresh
    reader.tuple(TestTuple.of(7, Unsent, Unsent, "1970-01-04"), 0, row)
    assert(row.toSeq == Seq[Any](3, null, null, 7, null) && reader.unchanged.toSeq == Seq(text("word")))
    reader.complete(row, before)
    assert(row.toSeq == Seq[Any](3, null, text("long"), 7, null) && reader.unchanged == null)
    reader.tuple(TestTuple.of(Unsent, Unsent, Unsent, Unsent), 0, row)
    assert(reader.unchanged.toSeq == Seq("id", "word", "day").map(text))
    reader.tuple(TestTuple.of(7, Unsent, "a", null), 0, row)
    assert(reader.unchanged == null)
  }

  test("a tuple with another number of columns is not read") {
    val reader = new RowReader("t", columns, schema)
    Seq(TestTuple.of(1), TestTuple.of(1, 2, 3, 4, 5)).foreach(bytes =>
      intercept[IllegalStateException](reader.tuple(bytes, 0, fresh)))
  }

  test("a value that its Spark type lacks is refused with the schema of the table's columns") {
    val reader = new RowReader("public.t", columns, schema)
    val error = intercept[EpochalException](reader.tuple(TestTuple.of(1, null, "x", "infinity"), 0, fresh))
    assert(error.condition == Conditions.ValueUnsupported)
    assert(
      error.getMessage == "[EPOCHAL.VALUE_UNSUPPORTED] A value of the column 'day' of public.t, which is date, cannot be read as " +
        "DATE: it is infinity. Hint: Read the column as STRING from a new checkpoint: .schema(\"day STRING,word STRING,id INT\").")
  }
}
