package io.epochal.jdbc

import java.sql.SQLException

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.core.ledger.TriggerMode

final class SqliteTableCheckSuite extends TableChecks(Sqlite)

@Slow
final class MariadbTableCheckSuite extends TableChecks(Mariadb)
@Slow
final class Mysql8TableCheckSuite extends TableChecks(Mysql8)
@Slow
final class H2TableCheckSuite extends TableChecks(InProcess.H2)

final class PostgresTableCheckSuite extends TableChecks(Postgres) {
  private val ids = new StructType().add("id", LongType)

  onSchema(
    "a name without quotes matches the exact table, or else the one in lower case",
    ids,
    "CREATE TABLE t (id BIGINT)",
    "CREATE TABLE \"Pair\" (id BIGINT)",
    "CREATE TABLE pair (id BIGINT)") { f =>
    Seq("T" -> "t", "Pair" -> "Pair", "pair" -> "pair", "\"Pair\"" -> "Pair").zipWithIndex.foreach {
      case ((name, table), i) =>
        f.database.execute("DELETE FROM t", "DELETE FROM pair", "DELETE FROM \"Pair\"")
        write(
          f,
          f.newRun(
            s"query $i",
            Map(
              "sinkId" -> s"sink$i",
              "dbtable" -> name,
              "onNewQuery" -> (0 to 3).map(n => s"sink$n").mkString("append:", ",", ""))),
          0,
          Seq(InternalRow(1L)))
        assert(f.database.one(s"""SELECT count(*) FROM "$table"""") == 1L, name)
    }
    refused(Conditions.TableMissing)(f.newRun(query, Map("dbtable" -> "\"T\"")))
  }

  onSchema(
    "a table of another schema has its ledger in that schema",
    ids,
    "CREATE SCHEMA \"odd.schema\"",
    "CREATE TABLE \"odd.schema\".\"odd\"\"table?\" (id BIGINT)") { f =>
    write(
      f,
      f.newRun(query, Map("sinkId" -> "sink", "dbtable" -> "\"odd.schema\".\"odd\"\"table?\"")),
      0,
      Seq(InternalRow(1L)))
    assert(f.database.one("SELECT last_epoch FROM \"odd.schema\".epochal_ledger") == 0L)
  }

  onSchema(
    "a column that is generated, and a view, are refused",
    ids,
    "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS (1) STORED UNIQUE)",
    "CREATE VIEW v AS SELECT * FROM t") { f =>
    assert(refused(Conditions.ColumnTypeMismatch)(f.newRun(query)).getMessage.contains(".drop('id')."))
    val error = refused(Conditions.ColumnTypeMismatch)(f.newRun(query, Map("keyColumns" -> "id")))
    assert(error.getMessage.contains("Set keyColumns to other columns"))
    refused(Conditions.ModeUnsupported)(f.newRun(query, Map("dbtable" -> "v")))
  }

  on(
    "an identity that is always generated can be a key after the statement in the hint",
    "CREATE TABLE t (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, word TEXT)") { f =>
    val keyed = Map("sinkId" -> "sink", "keyColumns" -> "id")
    val hint = refused(Conditions.ColumnTypeMismatch)(f.newRun(query, keyed)).values("suggestion")
    f.database.execute(hint.stripPrefix("Let the query supply it: ").stripSuffix("."))
    val run = f.newRun(query, keyed)
    write(f, run, 0, numbers(f, 0 until 3))
    write(f, run, 1, numbers(f, 1 until 5))
    holds(f, 0 until 5)
  }

  onSchema(
    "narrowing is refused with the cast to use, widening is not",
    new StructType().add("a", LongType),
    "CREATE TABLE t (a INTEGER)",
    "CREATE TABLE u (a NUMERIC(20,2))") { f =>
    val error = refused(Conditions.ColumnTypeMismatch)(f.newRun(query))
    assert(error.getMessage.contains("CAST(a AS INT)"))
    f.newRun(query, Map("dbtable" -> "u"))
  }

  onSchema(
    "the cast in the hint quotes a name that needs it",
    new StructType().add("order `id", LongType),
    "CREATE TABLE t (\"order `id\" INTEGER)") { f =>
    val error = refused(Conditions.ColumnTypeMismatch)(f.newRun(query))
    assert(error.getMessage.contains("CAST(`order ``id` AS INT)"))
  }

  onSchema(
    "an instant needs a cast to fit a timestamp without time zone",
    new StructType().add("a", TimestampType),
    "CREATE TABLE t (a TIMESTAMP)") { f =>
    assert(refused(Conditions.ColumnTypeMismatch)(f.newRun(query)).getMessage.contains("CAST(a AS TIMESTAMP_NTZ)"))
  }

  Seq(
    "a partition" -> Seq(
      "CREATE TABLE t (id BIGINT) PARTITION BY RANGE (id)",
      "CREATE TABLE near PARTITION OF t FOR VALUES FROM (0) TO (10) PARTITION BY RANGE (id)",
      "CREATE FOREIGN TABLE far PARTITION OF near FOR VALUES FROM (0) TO (5) SERVER remote"
    ),
    "a child" -> Seq(
      "CREATE TABLE t (id BIGINT)",
      "CREATE TABLE near () INHERITS (t)",
      "CREATE FOREIGN TABLE far () INHERITS (near) SERVER remote")
  ).foreach { case (member, tables) =>
    val server = Seq("CREATE FOREIGN DATA WRAPPER wrapper", "CREATE SERVER remote FOREIGN DATA WRAPPER wrapper")
    onSchema(
      s"$member that is a foreign table is refused by name before anything is written",
      ids,
      server ++ tables: _*) { f =>
      val error = refused(Conditions.ModeUnsupported)(f.newRun(query))
      assert(error.values("reason").contains("public.far is a foreign table"))
      assert(f.database.one("SELECT to_regclass('epochal_ledger')") == null)
    }
  }

  onSchema(
    "a foreign partition that is attached while the query runs fails its next epoch",
    ids,
    "CREATE FOREIGN DATA WRAPPER wrapper",
    "CREATE SERVER remote FOREIGN DATA WRAPPER wrapper",
    "CREATE TABLE t (id BIGINT) PARTITION BY RANGE (id)",
    "CREATE TABLE near PARTITION OF t FOR VALUES FROM (0) TO (10)"
  ) { f =>
    val run = f.newRun(query)
    write(f, run, 0, Seq(InternalRow(1L)))
    f.database.execute("CREATE FOREIGN TABLE far PARTITION OF t FOR VALUES FROM (10) TO (20) SERVER remote")
    refused(Conditions.TargetChanged)(write(f, run, 1, Seq(InternalRow(2L))))
    refused(Conditions.ModeUnsupported)(f.newRun(query))
    f.database.execute("ALTER TABLE t DETACH PARTITION far")
    write(f, f.newRun(query), 1, Seq(InternalRow(2L)))
    holds(f, 1 to 2)
  }

  onSchema("only an index that supports an upsert counts as a key", ids, "CREATE TABLE t (id BIGINT)") { f =>
    Seq(
      "CREATE UNIQUE INDEX i ON t (id) WHERE id > 5",
      "CREATE UNIQUE INDEX i ON t ((id + 1))",
      "ALTER TABLE t ADD CONSTRAINT i UNIQUE (id) DEFERRABLE").foreach { index =>
      f.database.execute(index)
      refused(Conditions.KeyNotUnique)(f.newRun(query, Map("keyColumns" -> "id")))
      f.database.execute(if (index.startsWith("ALTER")) "ALTER TABLE t DROP CONSTRAINT i" else "DROP INDEX i")
    }
    f.database.execute("CREATE UNIQUE INDEX i ON t (id)")
    f.newRun(query, Map("keyColumns" -> "id"))
  }
}

/** Targets that are refused by name before anything is written. */
abstract class TableChecks(databases: TestDatabases) extends SinkSuite(databases) {

  on("a missing table is refused, with a similar name suggested", table) { f =>
    f.database.execute("CREATE TABLE comments (id BIGINT)")
    assert(
      refused(Conditions.TableMissing)(f.newRun(query, Map("dbtable" -> "coments"))).getMessage.contains("'comments'"))
  }

  on("a column that the table lacks is refused, with the table's columns", "CREATE TABLE t (id BIGINT, words TEXT)") {
    f =>
      assert(refused(Conditions.ColumnMissing)(f.newRun(query)).getMessage.contains("id, words"))
  }

  onSchema(
    "all columns that the table lacks are named, with a way to add them",
    new StructType().add("mail", StringType).add("id", LongType).add("n", IntegerType),
    "CREATE TABLE t (id BIGINT, \"e-mail\" TEXT)") { f =>
    val error = refused(Conditions.ColumnMissing)(f.newRun(query))
    assert(error.getMessage.contains("has no columns 'mail', 'n'; it has id, e-mail"))
    val hint = error.values("suggestion")
    assert(hint.contains("columnMap=mail:e-mail") && hint.contains(".drop('mail', 'n')"))
    if (hint.contains("addColumns=true")) {
      if (databases.kind.startsWith("PostgreSQL")) f.database.execute("ALTER TABLE t OWNER TO loader")
      f.newRun(query, Map("addColumns" -> "true"))
    } else {
      f.database.execute(hint.split("or add it: ").last.stripSuffix(".").split("; ").toSeq: _*)
      f.newRun(query)
    }
  }

  on("a misspelt column of the table is renamed by the hint's statement", "CREATE TABLE t (id BIGINT, words TEXT)") {
    f =>
      val hint = refused(Conditions.ColumnMissing)(f.newRun(query)).values("suggestion")
      f.database.execute("ALTER TABLE .* RENAME COLUMN \\S+ TO [^.;]+".r.findFirstIn(hint).get)
      write(f, f.newRun(query), 0, numbers(f, 0 until 3))
      holds(f, 0 until 3)
  }

  on("an empty table that a failed first attempt has made is refused with the statement after which it is made again") {
    f =>
      val creating = Map("sinkId" -> "sink", "createTable" -> "true")
      f.newRun(query, creating).newWrite().createStreamingWriterFactory(() => 1): Unit
      val wider = new JdbcSinkFixture(f.database, f.schema.add("more", StringType))
      val error = refused(Conditions.ColumnMissing)(wider.newRun(query, creating))
      val drop = "DROP TABLE \\S+".r.findFirstIn(error.getMessage).get
      f.database.execute("INSERT INTO t (id) VALUES (1)")
      assert(refused(Conditions.ColumnMissing)(wider.newRun(query, creating)).getMessage.contains(".drop('more')"))
      f.database.execute(drop)
      val text = UTF8String.fromString("text")
      write(wider, wider.newRun(query, creating), 0, Seq(InternalRow(7L, text, text)))
      holds(f, 7 until 8)
  }

  on("a table is made at the start of a streaming query, once") { f =>
    val creating = Map("sinkId" -> "sink", "createTable" -> "true", "checkpointLocation" -> "unused")
    val run = f.newRun(query, creating)
    holds(f, 0 until 0)
    write(f, run, 0, numbers(f, 0 until 3))
    write(f, f.newRun(query, creating), 1, numbers(f, 3 until 6))
    holds(f, 0 until 6)
  }

  on("a start that is refused, or whose sink had a table, makes none") { f =>
    assume(databases != InProcess.H2, "H2 is written by the generic dialect, which has no upsert")
    val creating = Map("sinkId" -> "sink", "createTable" -> "true", "checkpointLocation" -> "unused")
    f.newRun(query, creating, OutputMode.Update)
    f.newRun(query, creating + ("keyColumns" -> "id"), trigger = TriggerMode.Continuous)
    intercept[SQLException](f.numbers)
    write(f, f.newRun(query, creating + ("keyColumns" -> "id"), OutputMode.Update), 0, numbers(f, 0 until 3))
    f.database.execute("ALTER TABLE t RENAME TO aside")
    f.newRun(query, creating + ("keyColumns" -> "id"), OutputMode.Update)
    intercept[SQLException](f.numbers)
  }

  onSchema("columns that differ only in case", new StructType().add("id", LongType).add("ID", LongType)) { f =>
    val creating = Map("sinkId" -> "sink", "createTable" -> "true")
    if (databases.kind.startsWith("PostgreSQL") || databases == InProcess.H2) f.newRun(query, creating)
    else {
      val error = refused(Conditions.OptionConflict)(f.newRun(query, creating))
      assert(error.getMessage.contains("column 'id', column 'ID'"))
      f.newRun(query, creating + ("columnMap" -> "ID:other"))
    }
  }

  on("columns are matched in any case, if only one matches", "CREATE TABLE t (\"Id\" BIGINT, WORD TEXT)") { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 2))
    assert(f.database.one("SELECT count(*) FROM t").toString == "2")
  }

  on(
    "a missing value for a required column is refused",
    "CREATE TABLE t (id BIGINT, word TEXT, more TEXT NOT NULL, own TEXT NOT NULL DEFAULT '')") { f =>
    assert(refused(Conditions.ColumnRequired)(f.newRun(query)).values("column") == "more")
  }

  onSchema("a type without a column type is refused", new StructType().add("a", NullType), "CREATE TABLE t (a TEXT)") {
    f =>
      refused(Conditions.TypeUnsupported)(f.newRun(query))
  }

  onSchema(
    "a NULL for a required column is a bad row",
    new StructType().add("id", LongType).add("word", StringType),
    "CREATE TABLE t (id BIGINT NOT NULL, word TEXT NOT NULL)") { f =>
    val rows = Seq(f.row(1), f.row(2), InternalRow(3L, null), f.row(4))
    val error = refused(Conditions.BadRow)(write(f, f.newRun(query), 0, rows))
    assert(error.values("column") == "word" && error.values("row") == "1" && error.values("partition") == "1")
    assert(error.values("epoch") == "0")
    holds(f, 0 until 0)
  }

  onSchema(
    "the NUL character and broken UTF-8 are bad rows, at any position",
    new StructType().add("id", LongType).add("word", StringType),
    table) { f =>
    val good =
      Seq("", "é", "plain", "日本語 and more than eight bytes 🙂", "12345678", "\u0001\u007f").map(UTF8String.fromString)
    val run = f.newRun(query)
    write(f, run, 0, good.zipWithIndex.map { case (text, i) => InternalRow(i.toLong, text) })
    assert(f.database.query("SELECT word FROM t ORDER BY id").map(_.head) == good.map(_.toString))
    val bad = (0 to 20).map(n => UTF8String.fromString("x" * n + "\u0000" + "y" * (20 - n))) ++
      Seq(Array[Byte](-1), "12345678".getBytes ++ Array[Byte](-61), Array[Byte](-19, -96, -128))
        .map(UTF8String.fromBytes)
    bad.foreach { text =>
      assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(InternalRow(1L, text)))).values("column") == "word")
    }
  }
}
