package io.epochal.jdbc

import java.sql.DriverManager

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class PostgresHostileNeighboursSuite extends HostileNeighbours(Postgres)
@Slow
final class Postgres13HostileNeighboursSuite extends HostileNeighbours(Postgres13)

/** Attacks by a role, `mallory`, that may create objects in a schema on the sink's path and is unrelated to the sink. What she plants
  * records, in a table of hers, the role that it runs as.
  */
abstract class HostileNeighbours(databases: TestDatabases) extends SinkSuite(databases) {

  private val sink = Map("sinkId" -> "sink")
  private val keyed = "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)"

  private val mallory = Seq(
    "DO $$ BEGIN CREATE ROLE mallory LOGIN PASSWORD 'loader'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
    "GRANT USAGE, CREATE ON SCHEMA public TO mallory",
    "CREATE TABLE loot (who name, what text)",
    "ALTER TABLE loot OWNER TO mallory",
    "GRANT INSERT ON loot TO PUBLIC",
    """CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS
      |'BEGIN INSERT INTO public.loot VALUES (current_user, TG_TABLE_NAME); RETURN NEW; END'""".stripMargin,
    """CREATE FUNCTION spied(text) RETURNS boolean LANGUAGE plpgsql AS
      |'BEGIN INSERT INTO public.loot VALUES (current_user, $1); RETURN true; END'""".stripMargin,
    "ALTER FUNCTION spy() OWNER TO mallory",
    "ALTER FUNCTION spied(text) OWNER TO mallory"
  )

  private def attacked(claim: String, ddl: String*)(body: JdbcSinkFixture => Any): Unit =
    attackedOn(claim, JdbcSinkFixture.Schema, ddl: _*)(body)

  /** Asserts that none of mallory's code has run as the loader. */
  private def attackedOn(claim: String, schema: StructType, ddl: String*)(body: JdbcSinkFixture => Any): Unit =
    onSchema(claim, schema, mallory ++ ddl: _*) { f =>
      body(f)
      assert(loot(f) == Nil)
    }

  private def loot(f: JdbcSinkFixture): Seq[String] =
    f.database.query("SELECT DISTINCT what FROM loot WHERE who = 'loader'").map(_.head.toString)

  private def asMallory(f: JdbcSinkFixture, sql: String*): Unit =
    Using.resource(DriverManager.getConnection(f.database.url.replace("user=loader", "user=mallory"))) { connection =>
      Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))
    }

  private def untrusted(f: JdbcSinkFixture, table: String, options: Map[String, String]): Unit = {
    val error = refused(Conditions.ObjectUntrusted)(write(f, f.newRun(query, options), 0, numbers(f, 0 until 10)))
    assert(error.values("object") == s"public.$table" && error.values("role") == "loader", error.getMessage)
    assert(f.numbers.isEmpty)
  }

  private val columns: Map[String, String] = Map(
    "epochal_ledger" -> "sink_id text, generation bigint, run_id text",
    "epochal_ledger_retired" -> "sink_id text",
    "epochal_ledger_history" -> "sink_id text, number bigint",
    "epochal_staging" -> "name text, sink_id text, layout text, token text",
    "epochal_prepared" -> "gid text, sink_id text, epoch bigint",
    "bad" -> "sink_id text, epoch bigint, partition_id bigint, row_number bigint, column_name text, reason text, row_json text, recorded_at timestamptz"
  )

  private val using: Map[String, Map[String, String]] =
    Map(
      "epochal_staging" -> Map("transport" -> "staged"),
      "epochal_prepared" -> Map("transport" -> "prepared"),
      "bad" -> Map("deadLetterTable" -> "bad"))

  columns.toSeq.sorted.foreach { case (name, definition) =>
    val options = sink ++ using.getOrElse(name, Map.empty)

    attacked(s"a planted $name with a trigger is refused", table) { f =>
      asMallory(
        f,
        s"CREATE TABLE $name ($definition)",
        s"CREATE TRIGGER spy BEFORE INSERT OR UPDATE OR DELETE ON $name FOR EACH ROW EXECUTE FUNCTION spy()",
        s"CREATE TRIGGER spying BEFORE INSERT OR UPDATE OR DELETE ON $name EXECUTE FUNCTION spy()",
        s"GRANT ALL ON $name TO PUBLIC"
      )
      untrusted(f, name, options)
    }

    // For the dead-letter table, the catalog reports a view, as for a target.
    if (name != "bad") attacked(s"a view in the place of $name is refused", table) { f =>
      val values = definition.split(", ").map(_.split(" ")).map(words => s"NULL::${words.last} AS ${words.head}")
      asMallory(
        f,
        s"CREATE VIEW $name AS SELECT ${values.mkString(", ")} WHERE spied('$name')",
        s"GRANT ALL ON $name TO PUBLIC")
      untrusted(f, name, options)
    }
  }

  attacked("an own ledger is refused if an untrusted role has a trigger on it, or only its WHEN", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    f.database.execute("GRANT TRIGGER ON epochal_ledger TO mallory")
    Seq(
      "FOR EACH ROW EXECUTE FUNCTION spy()",
      "FOR EACH ROW WHEN (spied(NEW.sink_id)) EXECUTE FUNCTION suppress_redundant_updates_trigger()").foreach { code =>
      asMallory(f, s"""CREATE TRIGGER "a spy" BEFORE UPDATE ON epochal_ledger $code""")
      val error = refused(Conditions.ObjectUntrusted)(write(f, f.newRun(query), 1, numbers(f, 10 until 20)))
      assert(error.getMessage.contains("""DROP TRIGGER "a spy" ON public.epochal_ledger"""))
      f.database.execute("""DROP TRIGGER "a spy" ON epochal_ledger""")
    }
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }

  attacked("a partition of a dead-letter table that an untrusted role owns is refused", table) { f =>
    f.database.execute(
      s"CREATE TABLE bad (${columns("bad")}) PARTITION BY LIST (sink_id)",
      "CREATE TABLE bad_rows PARTITION OF bad DEFAULT",
      "ALTER TABLE bad_rows OWNER TO mallory")
    untrusted(f, "bad_rows", sink + ("deadLetterTable" -> "bad"))
  }

  attacked(
    "a ledger that another role has made is used when that is the target's owner, or named, not when both share a group",
    table) { f =>
    f.database.execute(
      "DO $$ BEGIN CREATE ROLE warehouse_admin; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
      "DO $$ BEGIN CREATE ROLE warehouse_staff; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
      "GRANT warehouse_staff TO loader"
    )
    f.database.execute(LoaderRights.ledger("public"): _*)
    def ownedBy(role: String): Unit = f.database.execute(
      Seq("", "_retired", "_history").map(name => s"ALTER TABLE epochal_ledger$name OWNER TO $role"): _*)
    Seq("warehouse_admin", "warehouse_staff").foreach { role =>
      ownedBy(role)
      val error = refused(Conditions.ObjectUntrusted)(write(f, f.newRun(query), 0, numbers(f, 0 until 10)))
      assert(error.markup.contains(s"{option:trustedOwners=$role}") && !error.markup.contains("DROP TABLE"))
      assert(error.getMessage.contains("ALTER TABLE public.epochal_ledger OWNER TO \"loader\""))
    }
    write(f, f.newRun(query, sink + ("trustedOwners" -> "warehouse_staff")), 0, numbers(f, 0 until 10))
    ownedBy("warehouse_admin")
    f.database.execute("ALTER TABLE t OWNER TO warehouse_admin", "GRANT SELECT, INSERT ON t TO loader")
    write(f, f.newRun(query), 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
  }

  attacked("a staging table is filled and emptied only under a name that we make, and if we have made it", table) { f =>
    val staged = sink + ("transport" -> "staged")
    write(f, f.newRun(query, staged), 0, numbers(f, 0 until 10))
    val planted = "epochal_staging_aaaaaaaaaaaaaaaaaaaaaaaa"
    Using.resource(f.database.connectAsSink())(connection =>
      Using.resource(connection.createStatement()) { statement =>
        statement.execute("CREATE TABLE orders AS SELECT 1 AS id")
        statement.execute("CREATE TABLE invoices AS SELECT 1 AS id")
        statement.execute("GRANT ALL ON epochal_staging TO mallory"): Unit
      })
    asMallory(
      f,
      s"CREATE TABLE $planted (id bigint, word text)",
      s"GRANT ALL ON $planted TO PUBLIC",
      s"CREATE TRIGGER spy BEFORE INSERT ON $planted FOR EACH ROW EXECUTE FUNCTION spy()",
      s"CREATE TRIGGER spying BEFORE TRUNCATE ON $planted EXECUTE FUNCTION spy()",
      // All free tables are hers; orders was filled by an attempt that does not count, invoices has another layout.
      s"UPDATE epochal_staging SET name = '$planted' WHERE name = (SELECT name FROM epochal_staging LIMIT 1)",
      s"DELETE FROM epochal_staging WHERE name <> '$planted'",
      """INSERT INTO epochal_staging SELECT 'orders', sink_id, layout, 'token', 1, '0', 0, 0, 1, '0000000000000000', now()
        |FROM epochal_staging""".stripMargin,
      "INSERT INTO epochal_staging (name, sink_id, layout) SELECT 'invoices', sink_id, 'other' FROM epochal_staging LIMIT 1"
    )
    write(f, f.newRun(query, staged), 1, numbers(f, 10 until 20))
    holds(f, 0 until 20)
    assert(
      f.database.query("SELECT count(*) FROM orders UNION ALL SELECT count(*) FROM invoices") == Seq(Seq(1L), Seq(1L)))
  }

  /** A schema of mallory's, before the server's own on the loader's path, with everything that a statement could name without
    * its schema: all the server's functions, operators, aggregates, and domains in the place of types.
    */
  private val shadows = Seq(
    "CREATE SCHEMA evil AUTHORIZATION mallory",
    "GRANT USAGE ON SCHEMA evil TO PUBLIC",
    """DO $$
      |DECLARE f record;
      |BEGIN
      |  SET LOCAL ROLE mallory;
      |  FOR f IN SELECT p.proname, pg_get_function_identity_arguments(p.oid) AS arguments, p.prorettype::regtype AS result, p.proretset
      |    FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f'
      |  LOOP
      |    BEGIN
      |      EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s %s LANGUAGE plpgsql AS %L', f.proname, f.arguments,
      |        CASE WHEN f.proretset THEN 'SETOF' ELSE '' END, f.result,
      |        format('BEGIN INSERT INTO public.loot VALUES (current_user, %L); RETURN%s; END', f.proname,
      |          CASE WHEN f.proretset OR f.result = 'void'::regtype THEN '' ELSE ' NULL' END));
      |    EXCEPTION WHEN OTHERS THEN NULL; -- Pseudo-types.
      |    END;
      |  END LOOP;
      |  FOR f IN SELECT o.oprname, format('evil.o%s', o.oid) AS code, o.oprleft::regtype AS l, o.oprright::regtype AS r, o.oprresult::regtype AS result
      |    FROM pg_operator o WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0 LOOP
      |    BEGIN
      |      EXECUTE format('CREATE FUNCTION %s(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', f.code, f.l, f.r, f.result,
      |        format('BEGIN INSERT INTO public.loot VALUES (current_user, %L); RETURN NULL; END', f.oprname));
      |      EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = %s)', f.oprname, f.l, f.r, f.code);
      |    EXCEPTION WHEN OTHERS THEN NULL;
      |    END;
      |  END LOOP;
      |  CREATE FUNCTION evil.o(varchar, varchar) RETURNS boolean LANGUAGE plpgsql AS
      |    'BEGIN INSERT INTO public.loot VALUES (current_user, ''= of varchar''); RETURN false; END';
      |  CREATE OPERATOR evil.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = evil.o);
      |  CREATE FUNCTION evil.counted(bigint) RETURNS bigint LANGUAGE plpgsql AS
      |    'BEGIN INSERT INTO public.loot VALUES (current_user, ''count''); RETURN 1; END';
      |  CREATE AGGREGATE evil.count(*) (SFUNC = evil.counted, STYPE = bigint, INITCOND = '0');
      |  CREATE DOMAIN evil.text AS pg_catalog.text CHECK (public.spied('text'));
      |  CREATE DOMAIN evil.oid AS pg_catalog.oid CHECK (public.spied('oid'));
      |  CREATE DOMAIN evil.name AS pg_catalog.name CHECK (public.spied('name'));
      |END $$""".stripMargin
  )

  private def pathOfLoader(f: JdbcSinkFixture): Unit = {
    val name = f.database.one("SELECT current_database()")
    f.database.execute(s"ALTER ROLE loader IN DATABASE $name SET search_path = evil, public, pg_catalog")
    assert(
      f.database
        .one("SELECT count(*) FROM pg_proc WHERE pronamespace = 'evil'::regnamespace")
        .asInstanceOf[Long] > 1000)
  }

  private val many = 12000

  attacked("no untrusted function, operator or type runs as the loader: appends", shadows :+ table: _*) { f =>
    pathOfLoader(f)
    Seq("inline", "staged", "prepared", "auto").zipWithIndex.foreach { case (transport, i) =>
      val run = f.newRun(query, sink ++ Map("transport" -> transport, "deadLetterTable" -> s"public.bad_$transport"))
      write(f, run, i.toLong, numbers(f, 10 * i until 10 * i + 10) :+ InternalRow(999L, fromString("\u0000")))
      holds(f, 0 until 10 * i + 10)
      assert(f.database.one(s"SELECT count(*) FROM bad_$transport") == 1L)
      assert(loot(f) == Nil, transport)
    }
    val batch =
      f.newRun(query, Map("dbtable" -> "public.made", "createTable" -> "true", "transport" -> "staged")).newBatchWrite()
    val writer = batch.createBatchWriterFactory(() => 1).createWriter(0, 0L)
    numbers(f, 0 until 10).foreach(writer.write)
    batch.commit(Array(writer.commit()))
    writer.close()
    assert(f.database.one("SELECT count(*) FROM made") == 10L)
  }

  attacked("no untrusted function, operator or type runs as the loader: output mode complete", shadows :+ table: _*) {
    f =>
      pathOfLoader(f)
      Seq("inline", "staged").zipWithIndex.foreach { case (transport, i) =>
        val run = f.newRun(query, sink + ("transport" -> transport), OutputMode.Complete)
        write(f, run, i.toLong, numbers(f, 0 until 5 + i))
        holds(f, 0 until 5 + i)
      }
  }

  attackedOn(
    "no untrusted function, operator or type runs as the loader: changes by a text key, few and many",
    new StructType().add("op", StringType).add("word", StringType).add("id", LongType),
    shadows :+ "CREATE TABLE t (word varchar(20) PRIMARY KEY, id bigint)": _*
  ) { f =>
    pathOfLoader(f)
    def row(op: String, n: Int): InternalRow = InternalRow(fromString(op), fromString(s"word $n"), n.toLong)
    var epoch = 0L
    for { transport <- Seq("inline", "staged"); size <- Seq(10, many) } {
      val run = f.newRun(query, sink ++ Map("transport" -> transport, "keyColumns" -> "word", "opColumn" -> "op"))
      write(f, run, epoch, (0 until size).map(row("i", _)))
      write(f, run, epoch + 1, (size / 2 until size * 2).map(n => row(if (n < size) "d" else "u", n)))
      epoch += 2
      assert(f.numbers.sorted == ((0 until size / 2) ++ (size until size * 2)).map(_.toLong))
      f.database.execute("DELETE FROM t")
      assert(loot(f) == Nil, s"$transport, $size rows")
    }
  }

  attacked(
    "no untrusted function, operator or type runs as the loader: many rows by a numeric key",
    shadows :+ keyed: _*) { f =>
    pathOfLoader(f)
    val run = f.newRun(query, sink + ("keyColumns" -> "id"))
    write(f, run, 0, numbers(f, 0 until many))
    write(f, run, 1, numbers(f, many / 2 until 2 * many))
    holds(f, 0 until 2 * many)
  }

  Seq("inline", "staged", "prepared").foreach { transport =>
    on(
      s"the target's own triggers, deferred ones too, run under the session's path, $transport",
      table,
      "CREATE SCHEMA app",
      "CREATE TABLE app.audit (what text, seen bigint)",
      "CREATE FUNCTION app.note(what text, id bigint) RETURNS void LANGUAGE sql AS 'INSERT INTO app.audit VALUES ($1, $2)'",
      "CREATE FUNCTION noting() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM note(TG_NAME, NEW.id); RETURN NEW; END'",
      "CREATE TRIGGER at_once BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION noting()",
      """CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        |EXECUTE FUNCTION noting()""".stripMargin
    ) { f =>
      val name = f.database.one("SELECT current_database()")
      f.database.execute(s"ALTER ROLE loader IN DATABASE $name SET search_path = app, public")
      val run = f.newRun(query, sink + ("transport" -> transport))
      write(f, run, 0, numbers(f, 0 until 10))
      write(f, run, 1, numbers(f, 10 until 20))
      holds(f, 0 until 20)
      Seq("at_once", "late").foreach(trigger =>
        assert(f.database.one(s"SELECT count(DISTINCT seen) FROM app.audit WHERE what = '$trigger'") == 20L))
    }
  }
}
