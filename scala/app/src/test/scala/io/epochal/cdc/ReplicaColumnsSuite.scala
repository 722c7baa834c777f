package io.epochal.cdc

import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQueryException, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.concurrent.Eventually
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.jdbc.{PostgresServer, TestServer}

/** `createTable` declares the columns of a replica as the source's table does, and the replica is equal. */
final class ReplicaColumnsSuite extends QuerySuite with Eventually {
  import ReplicaColumnsSuite._
  import ReplicaPropertySuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(1, Minutes), interval = Span(20, Millis))

  private lazy val server = PostgresServer.url.fold(TestServer.missing("postgres"), identity)

  /** Databases with `items`, and with `replica` after the first `copy`.
    *
    * @param inTarget
    *   statements for the target
    */
  final private class Scene(inSource: Seq[String], inTarget: Seq[String]) extends AutoCloseable {
    private val name = s"replica_columns_${ProcessHandle.current.pid}_${numbers.incrementAndGet()}"
    private val names = Seq(name, s"${name}_target")
    names.foreach(one => on(server)(s"CREATE DATABASE $one"))
    val Seq(from, to) = names.map(database(server, _))
    private val checkpoint = newCheckpoint()
    on(from)(inSource: _*)
    on(to)(inTarget: _*)

    /** Copies what is in `items`, and then after each statement what it changes. */
    def copy(statements: String*)(change: DataFrame => DataFrame = identity): Unit =
      (Nil +: statements.map(Seq(_))).foreach { sql =>
        on(from)(sql: _*)
        val feed = spark.readStream
          .format("epochal-cdc")
          .options(Map("url" -> from, "dbtable" -> "items", "slot" -> name, "heartbeatInterval" -> "200ms"))
          .load()
        change(feed).writeStream
          .format("epochal-jdbc")
          .options(Map("url" -> to, "dbtable" -> "replica", "sinkId" -> "replica", "mode" -> "changes"))
          .options(Map("keyColumns" -> "id", "createTable" -> "true"))
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .start()
          .awaitTermination()
      }

    def isEqual(): Unit = {
      val items = rows(from, "SELECT i::text FROM items i ORDER BY id")
      assert(rows(to, "SELECT r::text FROM replica r ORDER BY id") == items): Unit
    }

    override def close(): Unit = {
      val slot = s"FROM pg_replication_slots WHERE slot_name = '$name'"
      eventually(assert(rows(server, s"SELECT 1 $slot AND active").isEmpty))
      rows(from, s"SELECT pg_drop_replication_slot(slot_name)::text $slot"): Unit
      names.foreach(one => on(server)(s"DROP DATABASE $one WITH (FORCE)"))
      FileUtils.deleteQuietly(checkpoint): Unit
    }
  }

  private def scene(inSource: String*)(inTarget: String*)(body: Scene => Any): Unit =
    Using.resource(new Scene(inSource, inTarget))(scene => body(scene): Unit)

  private def columns(url: String, table: String): Seq[String] = rows(
    url,
    s"""SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'NOT NULL' END)
       |FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname""".stripMargin
  )

  test("a replica's columns have the source's types and NOT NULL, and its rows are equal") {
    val values = Values.map(_._2).mkString(", ")
    scene(
      s"CREATE TABLE items (${Columns.mkString(", ")})",
      s"INSERT INTO items VALUES (1, $values)",
      "INSERT INTO items (id, c_text) VALUES (2, 'a')"
    )() { scene =>
      scene.copy(
        s"INSERT INTO items VALUES (3, $values)",
        "UPDATE items SET c_numeric = 0.00000000000000000000000000000000000000000000000001 WHERE id = 1",
        "UPDATE items SET c_numeric = '-Infinity' WHERE id = 3",
        "DELETE FROM items WHERE id = 2"
      )()
      assert(columns(scene.to, "replica") == columns(scene.from, "items"))
      scene.isEqual()
    }
  }

  test(
    "a type that another role may have made, means something else elsewhere, or equates keys becomes one of Spark's",
    Slow) {
    scene(
      "CREATE TYPE mood AS ENUM ('sad', 'happy')",
      "CREATE TYPE part AS (a int, b text)",
      "CREATE TABLE items (id numeric PRIMARY KEY, mood mood, price money, part part, json json, time time(3))",
      "INSERT INTO items VALUES (1.0, 'sad', 2.5, (1, 'x'), '{\"a\": \"\\u0000\"}', '12:00')"
    )("CREATE DOMAIN mood AS text CHECK (VALUE = 'planted')") { scene =>
      scene.copy("UPDATE items SET id = 1.00", "ALTER TYPE mood ADD VALUE 'new'", "UPDATE items SET mood = 'new'")()
      assert(
        columns(scene.to, "replica") ==
          Seq("id text NOT NULL", "json text", "mood text", "part text", "price text", "time text"))
      assert(
        rows(scene.to, "SELECT concat_ws(' ', id, mood, json) FROM replica") == Seq("1.00 new {\"a\": \"\\u0000\"}"))
    }
  }

  test("a column that the query computes has the type of its expression, and one that it renames the source's", Slow) {
    scene(
      "CREATE TABLE items (id int PRIMARY KEY, code varchar(5) NOT NULL, note jsonb, other uuid)",
      """INSERT INTO items VALUES (1, 'a', '{"b": 1}', '00000000-0000-0000-0000-000000000001')"""
    )() { scene =>
      val own = Seq("_change_type", "_commit_version", "_unchanged_columns")
      scene.copy()(
        _.selectExpr("id" +: "upper(code) AS code" +: "note AS remark" +: "cast(other AS STRING) AS other" +: own: _*))
      assert(columns(scene.to, "replica") == Seq("code text", "id integer NOT NULL", "other text", "remark jsonb"))
    }
  }

  test("a column that the source widens, or frees of NOT NULL, ends the query until the replica's has the same ALTER") {
    scene("CREATE TABLE items (id int PRIMARY KEY, code varchar(5) NOT NULL)", "INSERT INTO items VALUES (1, 'a')")() {
      scene =>
        scene.copy()()
        Seq("TYPE varchar(9)" -> "'123456789'", "DROP NOT NULL" -> "NULL").zipWithIndex.foreach {
          case ((change, value), i) =>
            on(scene.from)(s"ALTER TABLE items ALTER code $change", s"INSERT INTO items VALUES (${i + 2}, $value)")
            val error = intercept[StreamingQueryException](scene.copy()())
            assert(error.getMessage.contains("BAD_ROW") && error.getMessage.contains("code"), error)
            on(scene.to)(s"ALTER TABLE replica ALTER code $change")
            scene.copy()()
            scene.isEqual()
        }
    }
  }
}

private object ReplicaColumnsSuite {
  val numbers = new AtomicInteger

  /** Types of the source, each with a value. */
  val Values: Seq[(String, String)] = Seq(
    "boolean" -> "true",
    "smallint" -> "-32768",
    "integer" -> "7",
    "bigint" -> "9223372036854775807",
    "real" -> "'NaN'",
    "double precision" -> "'-Infinity'",
    "numeric" -> "123456789012345678901234567890123456789012345.678900",
    "numeric(60,20)" -> "'NaN'",
    "numeric(10,2)" -> "-12345678.90",
    "text" -> "E'a\\tb'",
    "character varying(8)" -> "'äöüß'",
    "character(4)" -> "'ab'",
    "name" -> "'n'",
    "bytea" -> "'\\xdeadbeef'",
    "date" -> "'0044-03-15 BC'",
    "timestamp without time zone" -> "'2026-11-29 12:34:56.789012'",
    "timestamp(3) without time zone" -> "'2026-11-29 12:34:56.789'",
    "timestamp with time zone" -> "'2026-11-29 12:34:56.789012+02'",
    "time without time zone" -> "'23:59:59.999999'",
    "interval" -> "'1 year 2 days 03:04:05.6'",
    "uuid" -> "'00000000-0000-0000-0000-000000000001'",
    "jsonb" -> "'{\"b\": [1.50, null], \"a\": \"x\"}'",
    "inet" -> "'10.0.0.1/8'",
    "macaddr" -> "'08:00:2b:01:02:03'",
    "bit varying(8)" -> "'101'",
    "int4range" -> "'[1,5)'",
    "point" -> "'(1.5,-2)'",
    "tsvector" -> "'''a'':1 ''b'''",
    "integer[]" -> "'{1,NULL,3}'",
    "text[]" -> "'{a,NULL,\"b,c\"}'",
    "uuid[]" -> "'{00000000-0000-0000-0000-000000000001}'",
    "numeric(5,1)[]" -> "'{1.5,NULL}'"
  )

  val Columns: Seq[String] = "id integer PRIMARY KEY" +: Values.map { case (kind, _) =>
    s"c_${kind.replaceAll("[^a-z0-9]+", "_")} $kind${if (kind == "text") " NOT NULL" else ""}"
  }
}
