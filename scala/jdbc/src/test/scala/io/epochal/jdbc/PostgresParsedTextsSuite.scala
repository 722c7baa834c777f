package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class PostgresParsedTextsSuite extends ParsedTexts(Postgres) {

  onSchema(
    "texts that the server parses cannot be the order, nor go into types that would cut them",
    new StructType().add("id", LongType).add("a", StringType),
    "CREATE TABLE t (id BIGINT PRIMARY KEY, a macaddr)",
    "CREATE TABLE u (id BIGINT, a time(3))",
    "CREATE TABLE v (id BIGINT, a interval hour to minute)"
  ) { f =>
    refused(Conditions.ModeUnsupported)(f.newRun(query, Map("keyColumns" -> "id", "orderColumn" -> "a")))
    refused(Conditions.ColumnTypeMismatch)(f.newRun(query, Map("dbtable" -> "u")))
    refused(Conditions.ColumnTypeMismatch)(f.newRun(query, Map("dbtable" -> "v")))
    assert(
      refused(Conditions.ModeUnsupported)(f.newRun(query, Map("transport" -> "prepared"))).getMessage
        .contains("parse its texts as macaddr"))
  }
}

@Slow
final class StagedParsedTextsSuite extends ParsedTexts(PostgresBy.staged)

/** Texts for types that the task has no form of: the server parses them. */
abstract class ParsedTexts(databases: TestDatabases) extends SinkSuite(databases) {

  private val values = Seq(
    "macaddr8" -> "08:00:2b:01:02:03:04:05",
    "money" -> "12.50",
    "bit(4)" -> "0101",
    "varbit" -> "010",
    "hstore" -> "a=>1, b=>NULL",
    "time" -> "12:30:00.123456",
    "timetz" -> "12:30:00+02",
    "interval" -> "1 year 2 days 03:04:05",
    "int4range" -> "[1,5)",
    "tstzrange" -> "[2026-01-01 00:00:00+00,)",
    "macaddr" -> "08:00:2b:01:02:03",
    "point" -> "(1,2)",
    "tsvector" -> "'a' 'b'",
    "odd.\"odd type\"" -> "[1,2]"
  )
  private val schema = StructType(
    new StructType().add("id", LongType).fields ++
      values.indices.map(i => new StructType().add(s"c$i", StringType).fields.head))
  private val columns = values.zipWithIndex.map { case ((kind, _), i) => s"c$i $kind" }.mkString(", ")
  private val names = values.indices.map(i => s"c$i")
  private val ddl = Seq(
    "CREATE EXTENSION IF NOT EXISTS hstore",
    "CREATE SCHEMA odd",
    "CREATE TYPE odd.\"odd type\" AS RANGE (SUBTYPE = float8)",
    s"CREATE TABLE t (id BIGINT PRIMARY KEY, $columns)")

  private def row(id: Long, texts: Seq[String]): InternalRow =
    InternalRow.fromSeq(id +: texts.map(text => if (text == null) null else fromString(text)))

  onSchema("texts go into types that the server parses, as literals do", schema, ddl: _*) { f =>
    val same = names
      .zip(values)
      .map { case (name, (kind, text)) => s"$name::text = '${text.replace("'", "''")}'::$kind::text" }
      .mkString(" AND ")
    val run = f.newRun(query)
    write(f, run, 0, (0L until 50L).map(row(_, values.map(_._2))) :+ row(50, values.map(_ => null)))
    assert(f.database.one(s"SELECT count(*) FROM t WHERE $same") == 50L)
    assert(f.database.one("SELECT count(*) FROM t WHERE c0 IS NULL AND c13 IS NULL") == 1L)
    val upserting = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "id"))
    write(f, upserting, 1, Seq(row(50, values.map(_._2)), row(51, values.map(_._2))))
    assert(f.database.one(s"SELECT count(*) FROM t WHERE $same") == 52L)
    // The server's coercion to the declared length does not cut.
    refused(Conditions.DatabaseError)(write(f, upserting, 2, Seq(row(52, values.map(_._2).updated(2, "01010")))))
    // In money's own texts a comma or a point can separate thousands, depending on the locale.
    for ((index, text, state) <- Seq((0, "PRIVATE", "22P02"), (1, "1,50", "22P02"), (5, "PRIVATE", "22007"))) {
      val error =
        refused(Conditions.DatabaseError)(write(f, upserting, 2, Seq(row(52, values.map(_._2).updated(index, text)))))
      assert(error.getMessage.contains(s"SQLSTATE $state"))
      val chain = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null)
      assert(!chain.exists(_.toString.contains(text)))
    }
    assert(f.database.one("SELECT count(*) FROM t") == 52L)
  }

  onSchema(
    "XML is parsed where the server can, and an error does not contain it",
    new StructType().add("a", StringType),
    "CREATE TABLE t (a xml)") { f =>
    assume(
      f.database.one(
        "SELECT count(*) FROM pg_config() WHERE name = 'CONFIGURE' AND setting LIKE '%with-libxml%'") == 1L)
    val run = f.newRun(query, Map("sinkId" -> "sink"))
    write(f, run, 0, Seq(InternalRow(fromString("<a b=\"1\">é</a>"))))
    assert(f.database.one("SELECT a::text FROM t") == "<a b=\"1\">é</a>")
    val error = refused(Conditions.DatabaseError)(write(f, run, 1, Seq(InternalRow(fromString("<PRIVATE")))))
    assert(error.getMessage.contains("SQLSTATE 2200N") && !error.getMessage.contains("PRIVATE"))
  }

  onSchema(
    "such a column can be the key",
    new StructType().add("key", StringType).add("word", StringType),
    "CREATE TABLE t (key macaddr PRIMARY KEY, word TEXT)") { f =>
    val run = f.newRun(query, Map("sinkId" -> "sink", "keyColumns" -> "key"))
    def rows(word: String, keys: String*) = keys.map(key => InternalRow(fromString(key), fromString(word)))
    write(f, run, 0, rows("old", "08:00:2b:01:02:03", "08:00:2b:01:02:04"))
    write(f, run, 1, rows("new", "08002b010203"))
    assert(f.database.query("SELECT word FROM t ORDER BY key").flatten == Seq("new", "old"))
    assert(
      refused(Conditions.DuplicateKeys)(write(f, run, 2, rows("twice", "08002b010203", "08:00:2b:01:02:03")))
        .values("rows") == "2")
  }
}
