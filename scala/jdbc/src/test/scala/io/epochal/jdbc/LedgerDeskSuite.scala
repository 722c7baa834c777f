package io.epochal.jdbc

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.PhysicalWriteInfo
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.{ArrayType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.core.ledger.TriggerMode
import io.epochal.testkit.Serialization

final class SqliteLedgerDeskSuite extends LedgerDeskSuite(Sqlite)
@Slow
final class MariadbLedgerDeskSuite extends LedgerDeskSuite(Mariadb)
@Slow
final class H2LedgerDeskSuite extends LedgerDeskSuite(InProcess.H2) {
  override protected def storesChanges = false
}

final class PostgresLedgerDeskSuite extends LedgerDeskSuite(Postgres) {

  on("a ledger with another role's trigger is not repaired", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    f.database.execute(
      "DROP ROLE IF EXISTS intruder",
      "CREATE ROLE intruder",
      "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
      "ALTER FUNCTION planted() OWNER TO intruder",
      "CREATE TRIGGER planted BEFORE DELETE ON epochal_ledger FOR EACH ROW EXECUTE FUNCTION planted()"
    )
    refused(Conditions.ObjectUntrusted)(LedgerDesk.change(options(f), "sink", shown(f), null))
    f.database.execute("DROP TRIGGER planted ON epochal_ledger", "DROP FUNCTION planted()", "DROP ROLE intruder")
  }

  compared("comparisons that the role may not read are left out", "a") { f =>
    f.database.execute("REVOKE ALL ON epochal_ledger_verification FROM loader")
    assert(replicas(f).isEmpty)
  }
}

final class FlushedLedgerDeskSuite extends SinkSuite(Postgres) {

  on(
    "a sink of a real-time query is forgotten with its progress, and its run is fenced; its epoch cannot be set",
    table) { f =>
    val run =
      f.newRun(query, Map("sinkId" -> "sink", "flushInterval" -> "1h"), OutputMode.Update, TriggerMode.RealTime)
    val factory = run
      .newWrite()
      .createStreamingWriterFactory(new PhysicalWriteInfo {
        override def numPartitions(): Int = 1
      })
    val writer = Serialization.copy(factory).createWriter(0, 0L, 0L)
    writer.write(f.row(0L))
    val options = f.database.options("epochal_ledger").asJava
    val row = new ObjectMapper().readTree(LedgerDesk.read(options)).get("sinks").get(0).get("row")
    val shown = Seq("query_id", "generation", "run_id", "last_epoch", "offsets_hash")
      .map(row.get(_).toString)
      .mkString("[", ",", "]")
    assert(row.get("rows_beyond").asLong == 0L)
    refused(Conditions.RepairUnsupported)(LedgerDesk.change(options, "sink", shown, "[3,null]"))
    LedgerDesk.change(options, "sink", shown, null)
    Seq("epochal_ledger", "epochal_ledger_progress", "epochal_ledger_boundary").foreach(table =>
      assert(f.database.one(s"SELECT count(*) FROM $table") == 0L))
    refused(Conditions.SinkFenced)(writer.commit())
    writer.close()
    holds(f, 0 until 0)
  }
}

/** Reading and repairing a ledger from other languages. */
abstract class LedgerDeskSuite(databases: TestDatabases) extends SinkSuite(databases) {

  protected def options(f: JdbcSinkFixture): java.util.Map[String, String] =
    f.database.options("epochal_ledger").asJava

  private def sink(f: JdbcSinkFixture): JsonNode =
    new ObjectMapper().readTree(LedgerDesk.read(options(f))).get("sinks").get(0)

  protected def shown(f: JdbcSinkFixture): String = {
    val row = sink(f).get("row")
    Seq("query_id", "generation", "run_id", "last_epoch", "offsets_hash")
      .map(row.get(_).toString)
      .mkString("[", ",", "]")
  }

  on("a sink is shown with its row, its history and the queries that it has replaced", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val append = Map("sinkId" -> "sink", "onNewQuery" -> s"append:$query")
    val run = f.newRun(otherQuery, append)
    (0 until 12).foreach(epoch => write(f, run, epoch.toLong, numbers(f, 10 * epoch + 10 until 10 * epoch + 20)))
    val found = sink(f)
    assert(found.get("replicas").isEmpty)
    val row = found.get("row")
    assert(row.get("sink_id").asText == "sink")
    assert((row.get("last_epoch").asLong, row.get("rows").asLong, row.get("total_rows").asLong) == ((11L, 10L, 130L)))
    assert(found.get("retired").get(0).get("query_id").asText == query)
    val epochs = found.get("history").elements.asScala.map(_.get("epoch").asLong).toSeq
    assert(epochs == (11L to 2L by -1L))
    val updated = java.time.Instant.parse(row.get("updated_at").asText)
    assert(java.time.Duration.between(updated, java.time.Instant.now).abs.toMinutes < 5)
  }

  private val feed = new StructType()
    .add("id", LongType)
    .add("word", StringType)
    .add("_unchanged_columns", ArrayType(StringType, containsNull = false))
    .add("_change_type", StringType)
    .add("_commit_version", StringType)

  /** Replicates the row (1, a), and compares the table with each of the words. */
  private def compare(f: JdbcSinkFixture, words: String*): Unit = {
    val run = f.newRun(query, Map("sinkId" -> "sink", "mode" -> "changes", "keyColumns" -> "id"))
    def text(value: String) = UTF8String.fromString(value)
    def epoch(number: Int, changes: (String, Any, String)*): Unit =
      write(
        f,
        run,
        number.toLong,
        changes.zipWithIndex.map { case ((kind, id, word), i) =>
          InternalRow(id, text(word), null, text(kind), text(f"${number + 1}%016X/$i%010d"))
        })
    epoch(0, ("insert", 1L, "a"))
    words.zipWithIndex.foreach { case (word, i) =>
      epoch(i + 1, ("verify_begin", null, null), ("verify", 1L, word), ("verify_end", null, null))
    }
  }

  protected def replicas(f: JdbcSinkFixture): Seq[String] = sink(f)
    .get("replicas")
    .elements
    .asScala
    .map { replica =>
      assert(replica.get("equal_at").isNull == replica.get("equal_position").isNull)
      assert(replica.get("until_key").isNull)
      java.time.Instant.parse(replica.get("verified_at").asText): Unit
      Seq("position", "different_rows", "found", "equal_position").map(replica.get(_).asText).mkString(" | ")
    }
    .toSeq

  /** Whether the database has a sink with `mode=changes`. */
  protected def storesChanges: Boolean = true

  protected def compared(claim: String, words: String*)(check: JdbcSinkFixture => Any): Unit =
    if (storesChanges) onSchema(claim, feed, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, word TEXT)") { f =>
      compare(f, words: _*)
      check(f)
    }

  private val difference = "0 rows equal, 1 different, 0 missing, 0 extra; different: (id 1)"

  compared("a table is shown with its last comparison", "b")(f =>
    assert(replicas(f) == Seq(s"0/2 | 1 | $difference | null")))

  compared("a table that differs is shown with the last position at which it was equal", "a", "b")(f =>
    assert(replicas(f) == Seq(s"0/3 | 1 | $difference | 0/2")))

  on("a correction fences the active run, and the next run resumes from the corrected epoch", table) { f =>
    val run = f.newRun(query)
    (0 until 3).foreach(epoch => write(f, run, epoch.toLong, numbers(f, 10 * epoch until 10 * epoch + 10)))
    LedgerDesk.change(options(f), "sink", shown(f), """[1,null]""")
    assert((ledger(f, "last_epoch"), ledger(f, "generation")) == ((1L, 2L)))
    refused(Conditions.SinkFenced)(write(f, run, 2, numbers(f, 20 until 30)))
    f.database.execute("DELETE FROM t WHERE id >= 20")
    write(f, f.newRun(query), 2, numbers(f, 20 until 30))
    holds(f, 0 until 30)
  }

  on("an epoch that was set with its offsets is skipped when it is replayed", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val hash = ledger(f, "offsets_hash")
    LedgerDesk.change(options(f), "sink", shown(f), s"""[0,"$hash"]""")
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    holds(f, 0 until 10)
  }

  on("a forgotten sink starts over, with any query", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    LedgerDesk.change(options(f), "sink", shown(f), null)
    assert(f.database.query("SELECT sink_id FROM epochal_ledger").isEmpty)
    assert(intercept[Exception](write(f, run, 1, numbers(f, 10 until 20))) != null)
    f.database.execute("DELETE FROM t")
    write(f, f.newRun(otherQuery), 0, numbers(f, 0 until 10))
    assert(ledger(f, "generation") == 1L)
    holds(f, 0 until 10)
  }

  on("a row that has changed since it was shown is not repaired", table) { f =>
    val run = f.newRun(query)
    write(f, run, 0, numbers(f, 0 until 10))
    val before = shown(f)
    write(f, run, 1, numbers(f, 10 until 20))
    refused(Conditions.RepairRefused)(LedgerDesk.change(options(f), "sink", before, null))
    refused(Conditions.RepairRefused)(LedgerDesk.change(options(f), "sink", before, "[0,null]"))
    assert(ledger(f, "last_epoch") == 1L)
  }

  on("a missing ledger or sink is reported by name", table) { f =>
    refused(Conditions.LedgerNotFound)(LedgerDesk.read(options(f)))
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    refused(Conditions.SinkNotFound)(LedgerDesk.change(options(f), "other", shown(f), null))
  }
}
