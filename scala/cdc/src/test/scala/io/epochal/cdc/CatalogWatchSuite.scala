package io.epochal.cdc

import java.nio.file.Files
import java.sql.DriverManager

import scala.util.Using

import org.apache.hadoop.conf.Configuration

import io.epochal.cdc.change.ChangeState
import io.epochal.cdc.slot.{CatalogFacts, DdlTrigger}
import io.epochal.cdc.value.ServerSuite
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.JournalDamage
import io.epochal.jdbc.PostgresServer
import io.epochal.kit.database.Sql
import io.epochal.kit.store.HadoopFileStore

/** A restarted query detects changes that the log does not show, and ignores those that leave all rows as they are. */
abstract class CatalogWatchSuite(kind: String, server: => Either[String, String]) extends ServerSuite(kind, server) {
  private val origin = CdcOrigin("s", "shop", "7", 1, start = 1, snapshot = false, isWatched = true)

  /** The options of a query. */
  final private class Query(more: (String, String)*) {
    private lazy val options = CdcOptions
      .read(Map("url" -> connection.getMetaData.getURL, "dbtable" -> "orders,parts", "publication" -> "shop") ++ more)
      .fold(throw _, identity)
    val directory = Files.createTempDirectory("epochal-catalog")
    private val store = new HadoopFileStore(directory.toString, new Configuration)

    def tables: Seq[Long] = found.all.map(_.facts.oid)
    private lazy val found = CdcTables.find(options)

    def begin(): Unit = pinned(new CatalogWatch(options, found, store).begin(connection, "shop", tables))

    /** As the sessions of a capture are. */
    private def pinned[A](body: => A): A = {
      tables: Unit
      execute("SET search_path TO pg_catalog, pg_temp")
      try body
      finally execute("RESET search_path")
    }

    /** The columns all of whose values are in the log, at the next start, which may happen several times. */
    def logged(table: String): Set[String] = {
      val watch = new CatalogWatch(options, CdcTables.find(options), store)
      watch.open(connection, origin, ChangeState.Empty, tables)
      val names = pinned(
        watch.loggedColumns(connection, origin, found.all.find(_.facts.name == s"public.$table").get.facts.oid))
      assert(watch.look(connection, origin, tables, Set.empty)(None)((_, _) => ()).isEmpty)
      names
    }

    /** The error of the next start. */
    private def chosenOf(tables: CdcTables, chosen: Option[Set[String]]): CdcTables =
      tables.copy(chosen = chosen.map(names => tables.all.map(_.facts.oid -> names).toMap))

    def look(accepted: Option[String] = None, chosen: Option[Set[String]] = None): Option[EpochalException] = {
      val watch =
        new CatalogWatch(options.copy(acceptChange = accepted), chosenOf(CdcTables.find(options), chosen), store)
      watch.open(connection, origin, ChangeState.Empty, tables)
      pinned(watch.look(connection, origin, tables, Set.empty)(None)((_, _) => ()).map(_._2))
    }
  }

  private def create(): Unit = execute(
    "DROP PUBLICATION IF EXISTS shop, other",
    "DROP SCHEMA IF EXISTS public CASCADE",
    "CREATE SCHEMA public",
    "CREATE TYPE mood AS ENUM ('sad', 'glad')",
    "CREATE TYPE pair AS (x int, y text)",
    "CREATE DOMAIN moods AS mood[]",
    "CREATE TABLE orders (id int PRIMARY KEY, note varchar(10), memo varchar(10), moods moods, pair pair)",
    "INSERT INTO orders SELECT i, 'a', 'b' FROM generate_series(1, 5) i",
    "CREATE TABLE parts (id int PRIMARY KEY, note text) PARTITION BY RANGE (id)",
    "CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (10)",
    "CREATE TABLE part_2 PARTITION OF parts FOR VALUES FROM (10) TO (20)",
    "CREATE TABLE part_3 PARTITION OF parts FOR VALUES FROM (20) TO (30)",
    "INSERT INTO parts VALUES (1, 'a'), (11, 'b')",
    "CREATE TABLE unrelated (id int PRIMARY KEY)",
    "CREATE PUBLICATION shop FOR TABLE orders, parts WITH (publish_via_partition_root = true)"
  )

  private def after(query: Query)(sql: String*)(look: => Option[EpochalException]): Option[EpochalException] = {
    create()
    query.begin()
    execute(sql: _*)
    look
  }

  private val harmless = Seq(
    Seq("VACUUM FREEZE"),
    Seq("VACUUM FULL orders"),
    Seq("CLUSTER orders USING orders_pkey"),
    Seq("VACUUM FULL part_1", "VACUUM FULL part_3"),
    Seq("TRUNCATE part_3"),
    Seq("VACUUM FULL pg_attribute", "VACUUM FULL pg_publication", "VACUUM FULL pg_enum"),
    Seq("ANALYZE"),
    Seq("CREATE INDEX ON orders (note)", "DROP INDEX orders_note_idx", "REINDEX TABLE orders"),
    Seq("GRANT SELECT ON orders TO PUBLIC", "GRANT SELECT (note) ON orders TO PUBLIC", "VACUUM FULL orders"),
    Seq("ALTER TABLE orders SET (fillfactor = 50)"),
    Seq("ALTER TABLE orders ALTER note SET STORAGE EXTERNAL, ALTER note SET STATISTICS 10, ALTER note SET DEFAULT 'x'"),
    Seq("CREATE STATISTICS s ON id, note FROM orders", "DROP STATISTICS s"),
    Seq("ALTER TABLE orders ADD more text, ADD number serial", "ALTER TABLE orders DROP more"),
    Seq("ALTER TABLE parts ADD number serial"),
    Seq("ALTER TABLE orders ADD CHECK (id > 0), ALTER note SET NOT NULL"),
    Seq(
      "ALTER TABLE orders DISABLE TRIGGER ALL",
      "COMMENT ON TABLE orders IS 'x'",
      "ALTER TABLE orders OWNER TO CURRENT_USER"),
    Seq("ALTER TYPE mood ADD VALUE 'fine' BEFORE 'glad'"),
    // Between two labels there is no number left: the server numbers all of them again.
    Seq("ALTER TYPE mood ADD VALUE 'l1' BEFORE 'glad'") ++
      (2 to 30).map(i => s"ALTER TYPE mood ADD VALUE 'l$i' BEFORE 'l${i - 1}'"),
    Seq("CREATE TABLE part_4 PARTITION OF parts FOR VALUES FROM (30) TO (40)", "INSERT INTO parts VALUES (31, 'c')"),
    Seq(
      "CREATE TABLE part_4 (id int PRIMARY KEY, note text)",
      "ALTER TABLE parts ATTACH PARTITION part_4 FOR VALUES FROM (30) TO (40)"),
    Seq("ALTER TABLE orders ALTER note TYPE varchar(20)", "ALTER TABLE orders ALTER memo TYPE text"),
    Seq("ALTER PUBLICATION shop ADD TABLE unrelated", "COMMENT ON PUBLICATION shop IS 'x'"),
    Seq("UPDATE orders SET note = 'z'", "DELETE FROM orders", "DELETE FROM parts"),
    Seq("TRUNCATE orders"),
    Seq("ALTER TABLE orders REPLICA IDENTITY FULL")
  )

  harmless.foreach { sql =>
    on(s"no row differs after ${sql.take(5).mkString("; ")}") {
      val query = new Query()
      assert(after(query)(sql: _*)(query.look()).isEmpty)
    }
  }

  /** Labels between two others until there is no number left, `times` times: the server then numbers all of them again. */
  private def renumbered(label: String, times: Int): Seq[String] =
    s"ALTER TYPE mood ADD VALUE '${label}1' BEFORE '$label'" +:
      (2 to 30 * times).map(i => s"ALTER TYPE mood ADD VALUE '$label$i' BEFORE '$label${i - 1}'")

  on("labels that are numbered again twice are not taken for renamed ones") {
    val query = new Query()
    assert(after(query)(renumbered("glad", times = 2): _*)(query.look()).isEmpty)
  }

  on(
    "the numbers of labels hide that one was renamed and got its name back before, and one between two that changed may seem renamed") {
    val query = new Query()
    val back = Seq("ALTER TYPE mood RENAME VALUE 'glad' TO 'blue'", "ALTER TYPE mood RENAME VALUE 'blue' TO 'glad'")
    assert(after(query)(back ++ renumbered("glad", times = 1): _*)(query.look()).isEmpty)
    val other = new Query()
    create()
    execute("ALTER TYPE mood ADD VALUE 'even' BEFORE 'glad'", "ALTER TYPE mood ADD VALUE 'last'")
    other.begin()
    execute(renumbered("last", times = 2): _*)
    assert(other.look().exists(_.getMessage.contains("the label glad of public.mood was renamed: it is glad")))
  }

  private val hidden = Seq(
    "note was dropped and added again" -> Seq("ALTER TABLE orders DROP note, ADD note varchar(10)"),
    "note was dropped and added again, or got its name from another column" -> Seq(
      "ALTER TABLE orders RENAME note TO old",
      "ALTER TABLE orders RENAME memo TO note",
      "ALTER TABLE orders RENAME old TO memo"),
    "the values of public.orders.note were written again" -> Seq(
      "ALTER TABLE orders ALTER note TYPE varchar(10) USING upper(note)"),
    "the values of public.parts.note were written again" -> Seq(
      "ALTER TABLE parts ALTER note TYPE text USING upper(note)"),
    "the label sad of public.mood was renamed: it is blue" -> Seq("ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'"),
    "the label sad of public.mood was renamed: it is sad" -> Seq(
      "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'",
      "ALTER TYPE mood RENAME VALUE 'blue' TO 'sad'"),
    "the label glad of public.mood was renamed: it is glad" -> Seq(
      "ALTER TYPE mood RENAME VALUE 'glad' TO 'blue'",
      "ALTER TYPE mood RENAME VALUE 'blue' TO 'glad'; ALTER TYPE mood ADD VALUE 'fine' BEFORE 'glad'"
    ),
    "the composite type public.pair was altered" -> Seq("ALTER TYPE pair ADD ATTRIBUTE z int"),
    "the composite type public.pair was altered" -> Seq("ALTER TYPE pair RENAME ATTRIBUTE x TO z"),
    "public.orders left the publication for a while" -> Seq(
      "ALTER PUBLICATION shop DROP TABLE orders",
      "ALTER PUBLICATION shop ADD TABLE orders"),
    "public.orders left the publication" -> Seq("ALTER PUBLICATION shop DROP TABLE orders"),
    "shop was altered; it publishes insert, delete, truncate" -> Seq(
      "ALTER PUBLICATION shop SET (publish = 'insert, delete, truncate')"),
    "shop was altered; it publishes insert, update, delete, truncate" -> Seq(
      "ALTER PUBLICATION shop SET (publish = 'insert')",
      "ALTER PUBLICATION shop SET (publish = 'insert, update, delete, truncate')"),
    "shop was dropped and created again" -> Seq(
      "DROP PUBLICATION shop",
      "CREATE PUBLICATION shop FOR TABLE orders, parts WITH (publish_via_partition_root = true)"),
    "the partition public.part_4 was attached" -> Seq(
      "CREATE TABLE part_4 (id int PRIMARY KEY, note text)",
      "INSERT INTO part_4 VALUES (31, 'c')",
      "ALTER TABLE parts ATTACH PARTITION part_4 FOR VALUES FROM (30) TO (40)"),
    "the partition public.part_4 was attached" -> Seq(
      "CREATE TABLE part_4 (id int PRIMARY KEY, note text) PARTITION BY RANGE (id)",
      "CREATE TABLE part_5 PARTITION OF part_4 FOR VALUES FROM (30) TO (35)",
      "INSERT INTO part_4 VALUES (31, 'c')",
      "ALTER TABLE parts ATTACH PARTITION part_4 FOR VALUES FROM (30) TO (40)"),
    "the partition public.part_1 was detached or dropped" -> Seq("ALTER TABLE parts DETACH PARTITION part_1"),
    "the partition public.part_1 was detached or dropped" -> Seq("DROP TABLE part_1"),
    "the partition public.part_1 was detached and attached again" -> Seq(
      "ALTER TABLE parts DETACH PARTITION part_1",
      "ALTER TABLE parts ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (10)"),
    "the rows of the partition public.part_1 were removed" -> Seq("TRUNCATE part_1"),
    "the rows of the partition public.part_1 were removed" -> Seq(
      "TRUNCATE part_1",
      "INSERT INTO parts VALUES (2, 'b')",
      "ANALYZE part_1")
  )

  private val filtered = Seq(
    "public.orders left the publication for a while, or has another row filter or list of columns" -> Seq(
      "ALTER PUBLICATION shop SET TABLE orders WHERE (id > 5), parts",
      "ALTER PUBLICATION shop SET TABLE orders, parts"),
    "public.orders left the publication for a while, or has another row filter or list of columns" -> Seq(
      "ALTER PUBLICATION shop SET TABLE orders (id), parts"))

  for ((change, sql) <- hidden ++ filtered) on(s"$change: ${sql.mkString("; ")}") {
    assume(version >= 15 || !filtered.exists(_._2 == sql), "row filters and lists of columns")
    val query = new Query()
    val found = after(query)(sql: _*)(query.look())
    assert(found.exists(_.getMessage.contains(change)), found)
    assert(found.get.condition == Conditions.CaptureChanged)
    // The token in the hint accepts this change, and no later one.
    val token = "acceptChange=([0-9a-f]+)".r.findFirstMatchIn(found.get.getMessage).get.group(1)
    assert(query.look().map(_.getMessage) == found.map(_.getMessage))
    assert(query.look(Some("00000000")).nonEmpty)
    assert(query.look(Some(token)).isEmpty && query.look().isEmpty)
    execute("ALTER PUBLICATION shop SET (publish = 'insert')")
    assert(query.look(Some(token)).nonEmpty)
  }

  on("with onTruncate=ignore, rows of partitions may be removed") {
    val query = new Query("onTruncate" -> "ignore")
    assert(
      after(query)("TRUNCATE part_1", "DROP TABLE part_2", "ALTER TABLE parts DETACH PARTITION part_3")(
        query.look()).isEmpty)
  }

  on("a partition that is published with its root leaves the publication with it, or alone") {
    Seq(
      "public.part_1 left the publication for a while" -> Seq(
        "ALTER PUBLICATION shop DROP TABLE parts",
        "ALTER PUBLICATION shop ADD TABLE parts"),
      "public.part_1 left the publication" -> Seq("ALTER TABLE parts DETACH PARTITION part_1")
    ).foreach { case (change, sql) =>
      val query = new Query("dbtable" -> "part_1")
      create()
      execute("ALTER PUBLICATION shop SET (publish_via_partition_root = false)")
      query.begin()
      assert(query.look().isEmpty)
      execute(sql: _*)
      val found = query.look()
      assert(found.exists(_.getMessage.contains(change)), found)
    }
  }

  on("rows that are written again while the catalog is read have no number from before") {
    create()
    def facts() = CatalogFacts.of(connection, new Query().tables, "shop", None)
    val before = Using.resource(DriverManager.getConnection(connection.getMetaData.getURL)) { other =>
      other.setAutoCommit(false)
      Sql.run(other, "ALTER TABLE parts ALTER note TYPE text USING upper(note)")
      val waits = "SELECT count(*) > 0 FROM pg_locks l JOIN pg_database d ON d.oid = l.database " +
        "WHERE d.datname = current_database() AND NOT l.granted"
      val commit = new Thread(() => {
        while (!Sql.query(other, waits)(_.getBoolean(1)).head)
          Thread.sleep(5)
        other.commit()
      })
      commit.start()
      val found = facts()
      commit.join()
      found
    }
    val rewritten = facts().replaced(before).filterNot(_.isEmpty)
    assert(rewritten.size == 2 && !rewritten.exists(CatalogFacts.hasOldRow(connection, _, before.since)))
  }

  on("columns that are gone or have another type are named, unless the declared schema lacks them") {
    Seq(
      "without note" -> "ALTER TABLE orders DROP note",
      "without note" -> "ALTER TABLE orders RENAME note TO text",
      "another type of note" -> "ALTER TABLE orders ALTER note TYPE varchar(5)",
      "another type of id" -> "ALTER TABLE orders ALTER id TYPE bigint"
    ).foreach { case (change, sql) =>
      val query = new Query("dbtable" -> "orders")
      val found = after(query)(sql)(query.look())
      assert(found.exists(_.condition == Conditions.TableChanged) && found.get.getMessage.contains(change), sql)
      assert(query.look(chosen = Some(Set("memo"))).isEmpty, sql)
    }
  }

  on("a column that came and went while the query did not read it is no change") {
    val query = new Query("dbtable" -> "orders")
    assert(after(query)("ALTER TABLE orders ADD more text")(query.look()).isEmpty)
  }

  on("for several tables, only changes that their rows do not show count") {
    val query = new Query()
    assert(after(query)("ALTER TABLE orders DROP note", "ALTER TABLE orders RENAME memo TO text")(query.look()).isEmpty)
  }

  on("values of an added column are in the log unless older rows got one, also after the files were replaced later") {
    def names(query: Query) = Seq("orders", "parts").flatMap(query.logged(_))
    val query = new Query()
    create()
    execute("VACUUM FULL orders", "VACUUM FULL part_1")
    query.begin()
    Seq("orders", "parts").foreach(table =>
      execute(
        s"ALTER TABLE $table ADD plain int, ADD filled int DEFAULT 5; UPDATE $table SET plain = 8",
        s"ALTER TABLE $table ALTER filled DROP DEFAULT"))
    assert(names(query) == Seq("plain", "plain"))
    // The catalog no longer shows the DEFAULT.
    execute("VACUUM FULL", "CREATE TABLE part_4 PARTITION OF parts FOR VALUES FROM (30) TO (40)")
    assert(names(query) == Seq("plain", "plain"))
    execute("ALTER TABLE orders ADD late int")
    assert(names(query) == Seq("plain", "late", "plain"))
    execute("ALTER TABLE orders ALTER plain SET DEFAULT 9")
    assert(names(query) == Seq("plain", "late", "plain"))
    execute(
      "ALTER TABLE orders ALTER plain TYPE text USING 'x'",
      "ALTER TABLE orders ADD number serial",
      "ALTER TABLE parts ADD number serial")
    assert(names(query) == Seq("late", "plain"))
    // Older changes have its values under the old name.
    execute("ALTER TABLE orders RENAME late TO later")
    assert(names(query) == Seq("plain"))
  }

  on("an incomplete file of the state is ignored; damage and loss are errors") {
    val query = new Query()
    create()
    query.begin()
    val Array(file) = query.directory.toFile.listFiles
    val whole = Files.readAllBytes(file.toPath)
    Files.write(query.directory.resolve("7-x.facts"), whole.take(100)): Unit
    assert(query.look().isEmpty)
    Files.write(file.toPath, whole.updated(whole.length - 5, 'x'.toByte)): Unit
    intercept[JournalDamage](query.look())
    query.directory.toFile.listFiles.foreach(_.delete())
    intercept[JournalDamage](query.look())
  }

  on("the event trigger puts DDL of a user without rights on its function into the log, with the OIDs of its objects") {
    create()
    val slot = s"ddl_${ProcessHandle.current.pid}_$version"
    execute(
      s"CREATE ROLE $slot",
      s"GRANT CREATE, USAGE ON SCHEMA public TO $slot",
      s"SET ROLE $slot",
      "CREATE FUNCTION public.epochal_ddl() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
      "RESET ROLE"
    )
    execute(DdlTrigger.Create)
    execute(
      "REVOKE ALL ON FUNCTION public.epochal_ddl() FROM PUBLIC",
      s"REVOKE ALL ON SCHEMA public FROM $slot",
      s"CREATE SCHEMA $slot AUTHORIZATION $slot")
    assert(DdlTrigger.exists(connection))
    // Else its owner could run statements as everybody who alters a table.
    assert(
      query("SELECT proowner::regrole = current_user::regrole FROM pg_proc WHERE proname = 'epochal_ddl'") == Seq(
        Seq(true)))
    execute(
      s"SELECT pg_create_logical_replication_slot('$slot', 'test_decoding')",
      s"SET ROLE $slot",
      "CREATE TABLE mine (id int, note text)",
      "CREATE TEMP TABLE passing (id int)",
      "ALTER TABLE passing ADD note text",
      "ALTER TABLE mine DROP note")
    try {
      val oid = query(s"SELECT '$slot.mine'::regclass::oid::bigint").head.head
      execute("DROP TABLE passing", "DROP TABLE mine", "RESET ROLE")
      val found =
        query(s"SELECT data FROM pg_logical_slot_get_changes('$slot', NULL, NULL) WHERE data LIKE '%epochal-ddl%'").map(
          _.head.toString)
      assert(found.size == 3 && found.forall(_.contains(s"$oid")), found)
      assert(found.map(_.replaceAll(".*content:([A-Z ]+) .*", "$1")) == Seq("ALTER TABLE", "ALTER TABLE", "DROP TABLE"))
    } finally
      execute(
        "RESET ROLE",
        "DROP EVENT TRIGGER epochal_ddl, epochal_ddl_drop, epochal_ddl_rewrite",
        s"SELECT pg_drop_replication_slot('$slot')",
        s"DROP OWNED BY $slot CASCADE",
        s"DROP ROLE $slot")
  }
}

final class NewestCatalogWatchSuite extends CatalogWatchSuite("PostgreSQL", PostgresServer.url)

final class OldestCatalogWatchSuite extends CatalogWatchSuite("PostgreSQL 13", PostgresServer.oldest)

final class IcuCatalogWatchSuite extends CatalogWatchSuite("PostgreSQL 15 or newer, of the system", PostgresServer.icu)
