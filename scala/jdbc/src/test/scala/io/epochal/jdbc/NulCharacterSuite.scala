package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.core.error.Conditions

final class SqliteNulCharacterSuite extends NulCharacters(Sqlite)

final class PostgresNulCharacterSuite extends NulCharacters(Postgres) {

  private val json = new StructType()
    .add("a", StringType)
    .add("b", new StructType().add("x", StringType))
    .add("c", MapType(StringType, StringType))
    .add("d", ArrayType(StringType))
  private val ddl = "CREATE TABLE t (a JSONB, b JSON, c JSONB, d TEXT[])"

  private def row(key: String): InternalRow = InternalRow(
    text("{\"a\\\\u0000\":\"\\u0000\\\\\\u0000\"}"),
    InternalRow(text("x\u0000")),
    new ArrayBasedMapData(
      new GenericArrayData(Array[Any](text(key))),
      new GenericArrayData(Array[Any](text("\u0000v")))),
    new GenericArrayData(Array[Any](text("\u0000")))
  )

  onSchema("nulCharacter applies within JSON and arrays, but never to names", json, ddl) { f =>
    Seq("strip" -> "", "replace" -> "\ufffd").zipWithIndex.foreach { case ((policy, nul), i) =>
      val run = f.newRun(s"query $i", Map("sinkId" -> policy, "nulCharacter" -> policy, "onNewQuery" -> "append:strip"))
      f.database.execute("DELETE FROM t")
      write(f, run, 0, Seq(row("k")))
      assert(
        f.database.query("SELECT a ->> E'a\\\\u0000', b ->> 'x', c ->> 'k', d[1] FROM t") ==
          Seq(Seq(s"$nul\\$nul", s"x$nul", s"${nul}v", nul)))
      refused(Conditions.BadRow)(write(f, run, 1, Seq(row("k\u0000"))))
      refused(Conditions.BadRow)(write(f, run, 1, Seq(InternalRow(text("{\"\\u0000\":1}"), null, null, null))))
    }
    Seq(0, 1, 2, 3).foreach { column =>
      val values = Seq.tabulate(4)(i => if (i == column) row("k").get(i, json(i).dataType) else null)
      val error = refused(Conditions.BadRow)(
        write(f, f.newRun(query, Map("onNewQuery" -> "append:strip,replace")), 0, Seq(InternalRow.fromSeq(values))))
      assert(error.values("column") == json(column).name && error.getMessage.contains("nulCharacter"))
    }
  }

  onSchema(
    "the text after strip or replace must fit the column",
    new StructType().add("id", LongType).add("a", StringType),
    "CREATE TABLE t (id BIGINT, a VARCHAR(3))") { f =>
    write(f, f.newRun(query, Map("nulCharacter" -> "strip")), 0, Seq(InternalRow(1L, text("a\u0000b\u0000c"))))
    assert(f.database.one("SELECT a FROM t") == "abc")
  }
}

/** The character that databases cannot store in a text. */
abstract class NulCharacters(databases: TestDatabases) extends SinkSuite(databases) {

  protected def text(value: String): UTF8String = UTF8String.fromString(value)

  on("nulCharacter decides how the NUL character is handled", table) { f =>
    def row(n: Long) = InternalRow(n, text("\u0000é\u0000x\u0000"))
    val error = refused(Conditions.BadRow)(write(f, f.newRun(query), 0, Seq(row(1))))
    assert(error.getMessage.contains("set nulCharacter") && error.markup.contains("set {option:nulCharacter}"))
    write(f, f.newRun(query, Map("sinkId" -> "sink", "nulCharacter" -> "strip")), 0, Seq(row(1)))
    write(f, f.newRun(query, Map("sinkId" -> "sink", "nulCharacter" -> "replace")), 1, Seq(row(2), f.row(3)))
    assert(
      f.database.query("SELECT word FROM t ORDER BY id").map(_.head) ==
        Seq("éx", "\ufffdé\ufffdx\ufffd", "row 3"))
  }

  on("broken UTF-8 is a bad row under every nulCharacter", table) { f =>
    Seq("strip", "replace").foreach { policy =>
      refused(Conditions.BadRow)(
        write(
          f,
          f.newRun(query, Map("nulCharacter" -> policy)),
          0,
          Seq(InternalRow(1L, UTF8String.fromBytes(Array[Byte](0, -1))))))
    }
  }
}
