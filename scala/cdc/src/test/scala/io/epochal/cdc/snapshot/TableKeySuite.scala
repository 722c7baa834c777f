package io.epochal.cdc.snapshot

import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.Tag

import io.epochal.cdc.change.{CapturedTable, TupleValue}
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.slot.{ServerFacts, TableFacts}
import io.epochal.jdbc.PostgresServer
import io.epochal.kit.database.SqlText._
import io.epochal.support.SlowTests.slowIf

/** Snapshots that are continued after a death, by keys of any type. */
final class TableKeySuite extends SnapshotRuns(PostgresServer.icu.orElse(PostgresServer.url)) {
  import SnapshotRuns._
  import TableKeySuite._

  private lazy val hasIcu =
    query("SELECT 1 FROM pg_collation WHERE collprovider = 'i' AND collname <> 'unicode'").nonEmpty
  private lazy val hasCitext = query("SELECT 1 FROM pg_available_extensions WHERE name = 'citext'").nonEmpty

  override protected def create(): Unit = {
    if (hasCitext) execute("CREATE SCHEMA more", "CREATE EXTENSION citext SCHEMA more")
    if (hasIcu)
      execute("CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    execute(
      s"CREATE TYPE mood AS ENUM (${(1 to Rows).reverse.map(i => s"'m\\''$i'").mkString(", ")})",
      "CREATE TYPE pair AS (x int, y text)",
      "CREATE DOMAIN price AS numeric(10,2) CHECK (VALUE > -1000)",
      "CREATE DOMAIN code AS text COLLATE \"C\"",
      "CREATE DOMAIN moods AS mood"
    )
  }

  private def sizes(key: Key): Seq[Tag] =
    slowIf(!Set("integer", "text").contains(key.types.mkString))

  for (key <- Keys) on(s"a snapshot is continued by a key of ${key.types.mkString(" and ")}", sizes(key): _*) {
    assume(hasCitext || !key.types.exists(_.contains("citext")), "citext")
    assume(hasIcu || !key.types.exists(_.contains("anycase")), "ICU")
    created
    // Several ranges of one frame each, and one range of several frames.
    check(key, "ranges", Rows, "'note '", "")
    check(key, "frames", Rows / 4, "repeat('x', 300000)", s" PARTITION BY RANGE (${key.names.head})")
  }

  private def check(key: Key, table: String, rows: Int, note: String, partitions: String): Unit = {
    execute(
      s"DROP TABLE IF EXISTS $table",
      s"CREATE TABLE $table (note text, ${key.columns}, PRIMARY KEY (${key.names.mkString(", ")}))$partitions")
    if (partitions.nonEmpty) execute(s"CREATE TABLE ${table}_1 PARTITION OF $table DEFAULT")
    execute(s"INSERT INTO $table SELECT $note || i, ${key.values.mkString(", ")} FROM generate_series(1, $rows) i")
    val stored = query(s"SELECT ${key.names.map(name => s"format('%s', $name)").mkString(", ")} FROM $table")
    assert(TableKey.of(facts(table), columns(table)).map(_.hasBinary) == Some(key.isBinary))
    Seq(false, true).filter(key.isBinary || !_).foreach { binary =>
      val journal = new Journal
      intercept[Death](run(table, journal, deathAt = 3, binary))
      val before = journal.tuples.size
      val xid = query("SELECT pg_current_xact_id()::text::bigint").head.head.asInstanceOf[Long]
      run(table, journal, binary = binary)

      val (relation, _) = journal.tuples.head
      val tuples = journal.tuples.map(_._2)
      assert(before > 0 && before < rows && tuples.size == rows)
      assert(tuples.map(value(_, 0)).distinct.size == rows)
      if (!binary) assert(tuples.map(tuple => key.names.indices.map(i => value(tuple, i + 1))).toSet == stored.toSet)

      val keys = journal.state.snapshots.values.flatMap(_.ranges.values).flatMap(_.parts.flatMap(_._2))
      assert(keys.nonEmpty == partitions.nonEmpty && keys.forall(stored.contains(_)))

      // The rows of the second run alone show a transaction from between the runs.
      val state = journal.state
      val contained = setup(table, binary)._1.view(state)
      val shows = contained.of(state.runs.map(_.lsn).max - 1, xid.toInt).get
      val captured = CapturedTable(relation, key.names.indices.map(_ + 1), Nil)
      contained.prepare(tuples.map(captured -> _))
      assert(tuples.map(shows(captured, _)) == tuples.indices.map(_ >= before))
    }
  }

  on("a snapshot of a table whose replica identity lacks the key is not continued") {
    execute(
      "CREATE TABLE indexed (id int PRIMARY KEY, code int NOT NULL UNIQUE)",
      "ALTER TABLE indexed REPLICA IDENTITY USING INDEX indexed_code_key",
      "CREATE TABLE keyless (id int)"
    )
    Seq("indexed", "keyless").foreach(table => assert(TableKey.of(facts(table), columns(table)).isEmpty))
    execute("ALTER TABLE indexed REPLICA IDENTITY FULL")
    assert(TableKey.of(facts("indexed"), columns("indexed")).nonEmpty)
  }

  private def facts(table: String): TableFacts =
    ServerFacts.tables(connection, sql"n.nspname = 'public' AND c.relname = $table").head

  private def value(tuple: Bytes, column: Int): String = {
    val Bytes(array, offset, length) = TupleValue.of(tuple, column).bytes
    new String(array, offset, length, UTF_8)
  }
}

private object TableKeySuite {
  val Rows = 48

  /** @param types
    *   of its columns
    * @param values
    *   SQL for those of the row `i`
    */
  final case class Key(types: Seq[String], values: Seq[String], isBinary: Boolean = true) {
    val names: Seq[String] = types.indices.map(i => s"\"Key $i\"")
    def columns: String = names.zip(types).map { case (name, kind) => s"$name $kind" }.mkString(", ")
  }

  private def of(kind: String)(value: String): Key = Key(Seq(kind), Seq(value))
  private def printed(kind: String)(value: String): Key = Key(Seq(kind), Seq(value), isBinary = false)

  /** Of mixed case, and with characters that are special in SQL, or in the literals of our code. */
  private val word = "CASE WHEN i % 2 = 0 THEN upper(md5(i::text)) || '''' ELSE md5(i::text) || E'\\\\ä\\n  |''' END"
  private val mood = "('m\\''' || i)::mood"

  private def special(kind: String)(others: String): String =
    s"CASE i WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' ELSE $others END::$kind"

  val Keys: Seq[Key] = Seq(
    of("smallint")("i - 20"),
    of("integer")("i - 20"),
    of("bigint")("i::bigint * 1000000007 - 20000000000"),
    of("oid")("4294967295 - i"),
    of("numeric")("CASE i WHEN 1 THEN 'NaN'::numeric ELSE (i - 20) / 7.0 END"),
    of("numeric(12,3)")("i / 8.0"),
    of("real")("CASE i WHEN 1 THEN 'NaN' ELSE (i - 20) / 3.0 END::real"),
    of("double precision")(special("double precision")("(i - 20) / 3.0")),
    of("text")(word),
    of("text COLLATE \"C\"")(word),
    of("text COLLATE anycase")(word),
    of("varchar(40)")(word),
    of("character(40)")(word),
    of("name")(word),
    of("more.citext")(word),
    of("code")(word),
    of("price")("i - 20.5"),
    of("moods")(mood),
    of("mood")(mood),
    of("uuid")("md5(i::text)::uuid"),
    of("bytea")("decode(md5(i::text), 'hex')"),
    of("date")(special("date")("'0010-03-01 BC'::date + 400 * i")),
    of("timestamp")(special("timestamp")("'0010-03-01 BC'::timestamp + i * interval '1 year 1.000001 s'")),
    of("timestamptz")(special("timestamptz")("'1999-12-31 23:59:59.999999+05'::timestamptz + i * interval '1 h'")),
    of("jsonb")("jsonb_build_object('k', i, '''', 1.50)"),
    printed("time")("time '00:00' + i * interval '1.000001 s'"),
    printed("timetz")("'10:00:00+00'::timetz + i * interval '1 s'"),
    printed("interval")("(i - 20) * interval '1 month 2 days 3.5 s'"),
    printed("inet")("('10.0.' || i || '.1/' || (8 + i % 25))::inet"),
    printed("cidr")("('10.0.' || i || '.0/24')::cidr"),
    printed("macaddr")("('08:00:2b:01:02:' || lpad(to_hex(i), 2, '0'))::macaddr"),
    printed("bit(8)")("i::bit(8)"),
    printed("bit varying")("i::bit(8)::varbit"),
    printed("\"char\"")("chr(40 + i)::\"char\""),
    printed("pg_lsn")("('0/' || to_hex(i * 40))::pg_lsn"),
    printed("integer[]")("ARRAY[i % 3, NULL, i]"),
    printed("text[]")("ARRAY['a,\"''' || i, NULL]"),
    printed("int4range")("int4range(i, 2 * i)"),
    printed("pair")("ROW(CASE WHEN i > 9 THEN i % 3 END, '\"\\, ''' || i)::pair"),
    Key(Seq("mood", "text"), Seq("('m\\''' || i % 3 + 1)::mood", word)),
    Key(
      Seq("boolean", "timestamp", "character(9)"),
      Seq("i % 2 = 0", "'2026-01-01'::timestamp + i % 5 * interval '1 s'", "i::text")),
    Key(Seq("more.citext", "integer", "more.citext"), Seq("CASE WHEN i % 2 = 0 THEN 'A' ELSE 'b' END", "i % 5", word)),
    Key(Seq("text COLLATE anycase", "inet"), Seq("chr(65 + i % 3)", "('10.0.0.' || i)::inet"), isBinary = false)
  )
}
