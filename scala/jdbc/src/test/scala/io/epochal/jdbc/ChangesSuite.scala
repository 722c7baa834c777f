package io.epochal.jdbc

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class SqliteChangesSuite extends Changes(Sqlite)
@Slow
final class StagedChangesSuite extends Changes(PostgresBy.staged)

final class MariadbChangesSuite extends MysqlChanges(Mariadb)
@Slow
final class Mysql8ChangesSuite extends MysqlChanges(Mysql8)

final class PostgresChangesSuite extends Changes(Postgres) {

  onSchema("a trigger that swallows a delete is noticed", schema, keyed) { f =>
    f.database.execute(
      "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
      "CREATE TRIGGER s BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION swallow()")
    swallowed(f)
  }
}

/** Here the changes go through LOAD DATA LOCAL, too, and the counts of drivers differ. */
abstract class MysqlChanges(databases: TestDatabases) extends Changes(databases) {

  onSchema("many changes go by LOAD DATA, and rows that stay as they are count as stored", schema, keyed) { f =>
    f.database.execute("SET GLOBAL local_infile = ON")
    val run = f.newRun(query, changes + ("connection.useAffectedRows" -> "true"))
    val words = Seq("tab\tbed", "back\\slash", "line\nfeed", "日本")
    def rows(op: Int => String, ids: Range) = ids.map(id => row(op(id), id.toLong, words(id % words.size)))
    write(f, run, 0, rows(_ => "i", 0 until 1000))
    assert(run.metrics("load") == "LOAD DATA LOCAL", run.metrics)
    write(f, run, 1, rows(id => if (id % 2 == 0) "u" else "d", 0 until 1200))
    assert(stored(f) == (0 until 1200 by 2).map(id => s"$id ${words(id % words.size)}"))
    assert(run.metrics("load") == "LOAD DATA LOCAL", run.metrics)
  }

  // By default a server sorts by the first 1024 bytes.
  for ((kind, long) <- Seq("VARCHAR(2000) CHARACTER SET ascii" -> "x" * 1990, "VARCHAR(700)" -> "日" * 690))
    onSchema(
      s"long keys that differ at their end are different: $kind",
      schema,
      s"CREATE TABLE t (id BIGINT, kind ${databases.keyText}, word TEXT NOT NULL, version INT, PRIMARY KEY (kind))"
        .replace("VARCHAR(50)", kind)
        .replace("COLLATE utf8mb4", if (kind.contains("ascii")) "COLLATE ascii" else "COLLATE utf8mb4")
    ) { f =>
      val run = f.newRun(query, ordered ++ Map("keyColumns" -> "kind", "keyComparison" -> "database"))
      def row(op: String, last: String, word: String, version: Int) =
        InternalRow(text(op), 1L, version, text(long + last), text(word))
      write(f, run, 0, Seq(row("i", "a", "one", 1), row("i", "b", "two", 2), row("u", "a", "three", 3)))
      assert(f.database.query("SELECT word FROM t ORDER BY kind") == Seq(Seq("three"), Seq("two")))
      write(f, run, 1, Seq(row("i", "c", "four", 1), row("d", "b", null, 2), row("u", "c", "five", 3)))
      assert(f.database.query("SELECT word FROM t ORDER BY kind") == Seq(Seq("three"), Seq("five")))
    }

  onSchema("a URL without a database deletes, too", schema, keyed) { f =>
    val database = f.database.one("SELECT DATABASE()").toString
    val elsewhere = Map("url" -> f.database.url.replace(s"/$database", "/"), "dbtable" -> s"$database.t")
    val run = f.newRun(query, changes ++ elsewhere)
    write(f, run, 0, Seq(row("i", 1, "one"), row("i", 2, "two")))
    write(f, run, 1, Seq(row("d", 1, null), row("u", 2, "TWO")))
    assert(stored(f) == Seq("2 TWO"))
  }

  onSchema(
    "a time that the server sets by itself is that of the change",
    new StructType().add("op", StringType).add("id", LongType).add("at", TimestampType).add("code", LongType),
    "CREATE TABLE t (id BIGINT PRIMARY KEY, at TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, code BIGINT UNIQUE)") { f =>
    val run = f.newRun(query, changes + ("keyColumns" -> "id"))
    def row(op: String, id: Long, second: Long) = InternalRow(text(op), id, second * 1000000L, id)
    write(f, run, 0, Seq(row("i", 1, 1000L), row("i", 2, 2000L)))
    write(f, run, 1, Seq(row("u", 1, 3000L), row("i", 3, 4000L)))
    assert(
      f.database.query("SELECT UNIX_TIMESTAMP(at) FROM t ORDER BY id").map(_.head.toString.toDouble.toLong) == Seq(
        3000L,
        2000L,
        4000L))
  }
}

/** `mode=changes`: a stream of changes maintains a replica. */
abstract class Changes(databases: TestDatabases) extends SinkSuite(databases) {

  protected val keyed: String =
    s"CREATE TABLE t (id BIGINT, kind ${databases.keyText}, word TEXT NOT NULL, version INT, PRIMARY KEY (id, kind))"
  protected val schema: StructType = new StructType()
    .add("op", StringType)
    .add("id", LongType)
    .add("version", IntegerType)
    .add("kind", StringType)
    .add("word", StringType)
  protected val changes: Map[String, String] =
    Map("sinkId" -> "sink", "mode" -> "changes", "keyColumns" -> "kind,id", "opColumn" -> "op") ++ databases.keyOptions
  protected val ordered: Map[String, String] = changes + ("orderColumn" -> "version")

  protected def text(value: String): UTF8String = UTF8String.fromString(value)
  protected def row(op: String, id: Long, word: String, version: Any = null): InternalRow =
    InternalRow(text(op), id, version, text("k"), text(word))
  protected def stored(f: JdbcSinkFixture): Seq[String] =
    f.database.query("SELECT id, word FROM t ORDER BY id").map(_.mkString(" "))

  protected def swallowed(f: JdbcSinkFixture): Unit = {
    val run = f.newRun(query, changes)
    write(f, run, 0, Seq(row("i", 1, "one"), row("i", 2, "two")))
    val error = refused(Conditions.RowsDropped)(write(f, run, 1, Seq(row("d", 1, null), row("u", 2, "TWO"))))
    assert(error.values("stored") == "1" && error.values("sent") == "2")
    assert(stored(f) == Seq("1 one", "2 two"))
  }

  onSchema("rows are inserted, updated and deleted by their keys, with each of the accepted words", schema, keyed) {
    f =>
      val run = f.newRun(query, changes)
      val puts = Seq("i", "C", "r", "insert", "INSERT", "Update", "u", "U")
      write(f, run, 0, puts.zipWithIndex.map { case (op, i) => row(op, i.toLong, op) } :+ row("i", 100, "stays"))
      assert(stored(f) == puts.zipWithIndex.map { case (op, i) => s"$i $op" } :+ "100 stays")
      write(
        f,
        run,
        1,
        Seq("d", "D", "delete", "DELETE", "Delete").zipWithIndex.map { case (op, i) =>
          row(op, i.toLong, null)
        } ++ Seq(row("u", 5, "five"), row("i", 6, "six"), row("d", 4711, null)))
      assert(stored(f) == Seq("5 five", "6 six", "7 U", "100 stays"))
      assert(ledger(f, "total_rows") == 17L)
  }

  onSchema("a replayed epoch changes nothing", schema, keyed) { f =>
    val run = f.newRun(query, changes)
    write(f, run, 0, Seq(row("i", 1, "one")))
    write(f, run, 1, Seq(row("d", 1, null)))
    f.database.execute("INSERT INTO t VALUES (1, 'k', 'another', 1)")
    write(f, run, 1, Seq(row("d", 1, null)))
    assert(stored(f) == Seq("1 another"))
  }

  onSchema("among changes to one key in an epoch the greatest order wins, deletes included", schema, keyed) { f =>
    val run = f.newRun(query, ordered)
    write(f, run, 0, Seq(row("i", 1, "one", 1), row("i", 2, "two", 1), row("i", 3, "three", 1)))
    write(
      f,
      run,
      1,
      Seq(
        row("d", 1, null, 3),
        row("u", 1, "late", 2),
        row("d", 2, null, 2),
        row("i", 2, "again", 3),
        row("i", 4, "four", 1),
        row("d", 4, null, 2),
        row("u", 3, "kept", null),
        row("u", 3, "THREE", 9))
    )
    assert(stored(f) == Seq("2 again", "3 THREE"))
  }

  onSchema("several changes to one key without an order column are refused", schema, keyed) { f =>
    val error = refused(Conditions.DuplicateKeys)(
      write(f, f.newRun(query, changes), 0, Seq(row("i", 1, "one"), row("d", 1, null), row("i", 2, "two"))))
    assert(error.values("rows") == "2")
    assert(stored(f).isEmpty)
  }

  onSchema("a row with an unknown operation is bad", schema, keyed) { f =>
    val run = f.newRun(query, changes)
    Seq("x", "", "upsert", "del", "inserts", "i\u0000", "ı").foreach { op =>
      assert(refused(Conditions.BadRow)(write(f, run, 0, Seq(row(op, 1, "one")))).values("column") == "op", op)
    }
    refused(Conditions.BadRow)(write(f, run, 0, Seq(InternalRow(null, 1L, 1, text("k"), text("one")))))
  }

  onSchema("a row that deletes needs only its key, one that stores needs all columns", schema, keyed) { f =>
    val run = f.newRun(query, changes)
    write(f, run, 0, Seq(row("d", 1, null), row("d", 2, "broken \u0000 text")))
    assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(row("u", 1, null)))).values("column") == "word")
    val noKey = InternalRow(text("d"), 1L, 1, null, text("one"))
    assert(refused(Conditions.BadRow)(write(f, run, 1, Seq(noKey))).values("column") == "kind")
  }

  onSchema("contradictory options are refused", schema, keyed) { f =>
    def options(more: (String, String)*)(without: String*): Map[String, String] = changes ++ more -- without
    f.newRun(query, options()("mode"))
    refused(Conditions.OptionRequired)(f.newRun(query, options()("opColumn")))
    refused(Conditions.KeyColumnsRequired)(f.newRun(query, options()("keyColumns")))
    refused(Conditions.OptionConflict)(f.newRun(query, options("mode" -> "upsert")()))
    refused(Conditions.OptionConflict)(f.newRun(query, options("mode" -> "append")("keyColumns")))
    val misspelt = refused(Conditions.OptionInvalid)(f.newRun(query, options("opColumn" -> "opp")()))
    assert(misspelt.getMessage.contains("Did you mean opColumn=op?"))
    refused(Conditions.OptionInvalid)(f.newRun(query, options("opColumn" -> "id")()))
    refused(Conditions.OptionInvalid)(f.newRun(query, options("keyColumns" -> "op")()))
    refused(Conditions.ModeUnsupported)(
      write(f, f.newRun(query, changes, OutputMode.Complete), 0, Seq(row("i", 1, "one"))))
  }

  onSchema("changes replace only updateColumns", schema, keyed) { f =>
    val run = f.newRun(query, changes + ("updateColumns" -> "version"))
    write(f, run, 0, Seq(row("i", 1, "one", 1)))
    write(f, run, 1, Seq(row("u", 1, "ONE", 2), row("i", 2, "two", 1)))
    assert(f.database.query("SELECT word, version FROM t ORDER BY id").map(_.mkString(" ")) == Seq("one 2", "two 1"))
  }

  onSchema("any sequence of changes leaves the same rows as applying it to a map", schema, keyed) { f =>
    val seed = Seed.random()
    info(s"seed ${seed.toBase64}")
    val change = for {
      op <- Gen.oneOf("i", "u", "d", "r", "Delete")
      id <- Gen.choose(0L, 30L)
      word <- Gen.alphaStr
    } yield (op, id, word)
    val epochs = Gen.listOfN(25, Gen.listOf(change)).pureApply(Gen.Parameters.default.withSize(60), seed)
    val replica = mutable.SortedMap.empty[Long, String]
    val run = f.newRun(query, ordered)
    var version = 0
    epochs.zipWithIndex.foreach { case (changes, epoch) =>
      val rows = changes.map { case (op, id, word) =>
        version += 1
        if (op.toLowerCase(java.util.Locale.ROOT).startsWith("d")) replica.remove(id) else replica.put(id, word)
        row(op, id, word, version)
      }
      write(f, run, epoch.toLong, scala.util.Random.shuffle(rows))
      assert(stored(f) == replica.toSeq.map { case (id, word) => s"$id $word" })
    }
  }
}
