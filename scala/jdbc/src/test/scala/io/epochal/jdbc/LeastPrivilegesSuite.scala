package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

final class PostgresLeastPrivilegesSuite
    extends LeastPrivileges(new PostgresDatabases("PostgreSQL", PostgresServer.url, rights = Seq("the place")))

@Slow
final class Postgres13LeastPrivilegesSuite
    extends LeastPrivileges(new PostgresDatabases("PostgreSQL 13", PostgresServer.oldest, rights = Seq("the place")))

/** The GRANTs that `docs/security.md` lists for each way of writing are sufficient for it. */
abstract class LeastPrivileges(databases: TestDatabases) extends SinkSuite(databases) {

  private val changes =
    new StructType().add("op", StringType).add("id", LongType, nullable = false).add("word", StringType)
  private val rows = JdbcSinkFixture.Schema

  private val target = "CREATE TABLE warehouse.comments (id BIGINT PRIMARY KEY, word TEXT)"
  private val deadLetters =
    """CREATE TABLE warehouse.bad (sink_id text, epoch bigint, partition_id bigint NOT NULL, row_number bigint NOT NULL,
      |column_name text NOT NULL, reason text NOT NULL, row_json text NOT NULL, recorded_at timestamptz NOT NULL)""".stripMargin

  // With a checkpoint, the start checks all privileges of a streaming query.
  private val sink = Map("sinkId" -> "sink", "dbtable" -> "warehouse.comments", "checkpointLocation" -> "unused")
  private val keyed = sink + ("keyColumns" -> "id")
  private val handmade = LoaderRights.ledger("warehouse") :+ target
  private def by(transport: String) = "transport" -> transport

  /** Several epochs, including one that prunes the history, and a query that takes over from another. */
  private def sufficient(
      claim: String,
      rights: Seq[String],
      made: Seq[String],
      options: Map[String, String],
      schema: StructType = rows,
      outputMode: OutputMode = OutputMode.Append,
      deleting: Boolean = false): Unit =
    onSchema(s"the rights '${rights.mkString("' and '")}' are sufficient $claim", schema, made: _*) { f =>
      f.database.execute(rights.flatMap(LoaderRights.of): _*)
      def row(op: String, id: Long, word: String): InternalRow =
        if (schema == changes) InternalRow(fromString(op), id, fromString(word)) else InternalRow(id, fromString(word))
      def stored: Set[Any] = f.database.query("SELECT id FROM warehouse.comments").map(_.head).toSet
      val run = f.newRun(query, options, outputMode)
      write(f, run, 0, (0L until 20L).map(n => row("i", n, s"$n")))
      assert(stored.size == 20)
      val next = (if (options.contains("keyColumns")) 10L else 20L) until 30L
      write(f, run, 1, next.map(n => row(if (deleting && n < 15) "d" else "u", n, s"new $n")))
      val expected =
        if (outputMode == OutputMode.Complete) next.toSet
        else (0L until 30L).filterNot(n => deleting && n >= 10 && n < 15).toSet
      assert(stored == expected)
      val taking = f.newRun(otherQuery, options + ("onNewQuery" -> s"append:$query"), outputMode)
      write(f, taking, 0, Seq(row("i", 99L, "of the other")), offsets = "of the other")
      assert(stored(99L))
    }

  sufficient("to append inline", Seq("a ledger made beforehand", "append"), handmade, sink + by("inline"))
  sufficient("to replace rows inline", Seq("a ledger made beforehand", "upsert"), handmade, keyed + by("inline"))
  sufficient(
    "to apply changes inline",
    Seq("a ledger made beforehand", "changes"),
    handmade,
    keyed ++ Map("opColumn" -> "op", by("inline")),
    changes,
    deleting = true)
  sufficient(
    "for output mode complete",
    Seq("a ledger made beforehand", "complete"),
    handmade,
    sink + by("inline"),
    outputMode = OutputMode.Complete)
  sufficient(
    "for a dead-letter table made beforehand",
    Seq("a ledger made beforehand", "append", "bad rows"),
    handmade :+ deadLetters,
    sink ++ Map("deadLetterTable" -> "warehouse.bad", by("inline")))
  sufficient("to append staged", Seq("staging", "append"), Seq(target), sink + by("staged"))
  sufficient("to replace rows staged", Seq("staging", "upsert"), Seq(target), keyed + by("staged"))
  sufficient(
    "to apply changes staged",
    Seq("staging", "changes"),
    Seq(target),
    keyed ++ Map("opColumn" -> "op", by("staged")),
    changes,
    deleting = true)
  sufficient("to prepare transactions", Seq("staging", "append"), Seq(target), sink + by("prepared"))
  sufficient(
    "to prepare transactions with all tables made beforehand",
    Seq("a ledger made beforehand", "append", "prepared transactions"),
    handmade :+ "CREATE TABLE warehouse.epochal_prepared (gid text PRIMARY KEY, sink_id text NOT NULL, epoch bigint NOT NULL)",
    sink + by("prepared"))
  sufficient(
    "to make the target and the dead-letter table",
    Seq("staging"),
    Nil,
    sink ++ Map("createTable" -> "true", "deadLetterTable" -> "warehouse.bad"))
}
