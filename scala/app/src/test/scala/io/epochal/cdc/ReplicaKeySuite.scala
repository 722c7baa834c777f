package io.epochal.cdc

import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.jdbc.{PostgresServer, TestServer}

/** Replicas by any key are equal when keys change, or refused. */
final class ReplicaKeySuite extends QuerySuite with Eventually {
  import ReplicaKeySuite._
  import ReplicaPropertySuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(1, Minutes), interval = Span(20, Millis))

  private lazy val server = PostgresServer.url.fold(TestServer.missing("postgres"), identity)

  /** A database with `items (id, code, note)` and `replica`, which is keyed by a column.
    *
    * @param ddl
    *   of `items`
    * @param kind
    *   of the key in the replica
    */
  final private class Scene(key: String, kind: String, ddl: String*) extends AutoCloseable {
    private val name = s"replica_key_${ProcessHandle.current.pid}_${numbers.incrementAndGet()}"
    on(server)(s"CREATE DATABASE $name")
    val url: String = database(server, name)
    private val checkpoint = newCheckpoint()
    run(ddl: _*)
    run(
      "CREATE TABLE replica (id text, code text, note text)",
      s"ALTER TABLE replica ALTER $key TYPE $kind, ADD PRIMARY KEY ($key)",
      "INSERT INTO items VALUES ('1', 'a', 'one'), ('2', 'b', 'two'), ('3', 'c', 'three')"
    )

    def run(sql: String*): Unit = on(url)(sql: _*)

    def start(options: (String, String)*)(change: DataFrame => DataFrame): StreamingQuery = {
      val (ofSink, ofSource) = options.partition(option => Sink(option._1))
      val feed = spark.readStream
        .format("epochal-cdc")
        .options(Map("url" -> url, "dbtable" -> "items", "slot" -> name, "heartbeatInterval" -> "200ms") ++ ofSource)
        .load()
      change(feed).writeStream
        .format("epochal-jdbc")
        .options(Map("url" -> url, "dbtable" -> "replica", "sinkId" -> "replica", "mode" -> "changes"))
        .options(Map("keyColumns" -> key) ++ ofSink)
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(if (options.contains(Endless)) Trigger.ProcessingTime(0) else Trigger.AvailableNow())
        .start()
    }

    def copy(options: (String, String)*): Unit = start(options: _*)(identity).awaitTermination()

    def replica: Seq[String] = rows(url, "SELECT r::text FROM replica r ORDER BY note")

    def isEqual(): Unit = {
      val items = rows(url, "SELECT i::text FROM items i ORDER BY note")
      assert(replica == items): Unit
    }

    /** Copies after each of some statements, then after all of them at once. */
    def follows(options: (String, String)*)(statements: String*): Unit = {
      copy(options: _*)
      isEqual()
      statements.foreach { sql =>
        run(sql)
        copy(options: _*)
        isEqual()
      }
      run("DELETE FROM items", "INSERT INTO items VALUES ('1', 'a', 'one'), ('2', 'b', 'two'), ('3', 'c', 'three')")
      run(statements: _*)
      copy(options: _*)
      isEqual()
    }

    override def close(): Unit = {
      val slot = s"FROM pg_replication_slots WHERE slot_name = '$name'"
      eventually(assert(rows(url, s"SELECT 1 $slot AND active").isEmpty))
      rows(url, s"SELECT pg_drop_replication_slot(slot_name)::text $slot"): Unit
      on(server)(s"DROP DATABASE $name WITH (FORCE)")
      FileUtils.deleteQuietly(checkpoint): Unit
    }
  }

  private def refused(condition: Condition)(body: => Any): String = {
    val error = intercept[Throwable] { body; () }
    val ours = Iterator.iterate(error)(_.getCause).takeWhile(_ != null).collectFirst { case e: EpochalException => e }
    assert(ours.exists(_.condition == condition), error)
    ours.get.getMessage
  }

  private def replica(claim: String, key: String, ddl: Seq[String], kind: String = "text")(body: Scene => Any): Unit =
    test(claim)(Using.resource(new Scene(key, kind, ddl: _*)) { scene => body(scene); () })

  private val keyed = Seq("CREATE TABLE items (id text PRIMARY KEY, code text NOT NULL UNIQUE, note text)")
  private val indexed = keyed :+ "ALTER TABLE items REPLICA IDENTITY USING INDEX items_code_key"
  private val whole = keyed :+ "ALTER TABLE items REPLICA IDENTITY FULL"
  private val keyless =
    Seq("CREATE TABLE items (id text, code text, note text)", "ALTER TABLE items REPLICA IDENTITY FULL")

  private val changes = Seq(
    "UPDATE items SET id = '20' WHERE id = '2'",
    "UPDATE items SET code = 'bb' WHERE code = 'b'",
    "UPDATE items SET id = '30', code = 'cc', note = 'xxx' WHERE id = '3'",
    "UPDATE items SET note = 'yyy' WHERE id = '30'",
    "DELETE FROM items WHERE id = '30'"
  )

  replica("a replica follows its key: the primary key", "id", keyed)(_.follows()(changes: _*))
  replica("a replica follows its key: the primary key with images of whole rows", "id", whole)(
    _.follows("preimages" -> "true")(changes: _*))
  replica("a replica follows its key: another unique column with images of whole rows", "code", whole)(
    _.follows("preimages" -> "true")(changes: _*))
  replica("a replica follows its key: a column of a table without a key, with images", "code", keyless)(
    _.follows("preimages" -> "true")(changes: _*))
  replica("a replica follows its key: the columns of the replica identity's index", "code", indexed)(
    _.follows()(changes: _*))

  private val large = keyed :+ "ALTER TABLE items ALTER note SET STORAGE EXTERNAL"

  replica("a row whose key changes keeps a large value that the server leaves out", "id", large)(
    _.follows()(
      "INSERT INTO items SELECT n, n, repeat(n::text, 5000) FROM generate_series(10, 14) AS n",
      "UPDATE items SET id = '20' WHERE id = '10'",
      "UPDATE items SET id = '21', code = 'moved' WHERE id = '11'",
      "UPDATE items SET id = '22' WHERE id = '12'; UPDATE items SET code = 'twice', id = '12' WHERE id = '22'",
      "DELETE FROM items WHERE id = '13'; UPDATE items SET id = '13' WHERE id = '14'; INSERT INTO items VALUES ('14', 'n', 'new')",
      "UPDATE items SET id = id || '0' WHERE length(note) > 100"
    ))

  replica("a batch has both rows of an update of the key, whatever its limit", "id", large) { scene =>
    scene.run("INSERT INTO items SELECT n, n, repeat(n::text, 5000) FROM generate_series(10, 14) AS n")
    Seq("1", "3").foreach { rows =>
      scene.copy("maxRowsPerBatch" -> rows)
      scene.isEqual()
      scene.run("UPDATE items SET id = 'x' || id")
      scene.copy("maxRowsPerBatch" -> rows)
      scene.isEqual()
    }
  }

  replica("a large value keeps its place under another name", "id", large) { scene =>
    def swapped(feed: DataFrame) =
      feed.selectExpr("id", "note AS code", "code AS note", "_unchanged_columns", "_change_type", "_commit_version")
    scene.run("INSERT INTO items VALUES ('9', 'z', repeat('large', 2000))")
    scene.start()(swapped).awaitTermination()
    scene.run("UPDATE items SET code = 'y' WHERE id = '9'", "UPDATE items SET id = '90' WHERE id = '9'")
    scene.start()(swapped).awaitTermination()
    assert(rows(scene.url, "SELECT id || length(code) || note FROM replica WHERE length(code) > 9") == Seq("9010000y"))
  }

  replica("a replica by an operation's column is refused where values can be left out", "id", large) { scene =>
    def operations(feed: DataFrame) =
      feed.selectExpr("id", "code", "note", "IF(_change_type = 'delete', 'd', 'u') AS op")
    val error = refused(Conditions.ModeUnsupported)(scene.start("opColumn" -> "op", "orderColumn" -> "id")(operations))
    assert(error.contains("without opColumn"))
  }

  replica("a replica by a query that leaves out which values were not sent is refused", "id", large) { scene =>
    def without(feed: DataFrame) = feed.drop("_unchanged_columns")
    assert(refused(Conditions.ModeUnsupported)(scene.start()(without)).contains("select _unchanged_columns, too."))
    scene.run("ALTER TABLE items REPLICA IDENTITY FULL")
    scene.start()(without).awaitTermination()
    scene.isEqual()
  }

  replica("the primary key where the replica identity is another index is refused", "id", indexed) { scene =>
    val error = refused(Conditions.KeyNotFollowed)(scene.copy())
    assert(error.contains("keyColumns=code") && error.contains("ALTER TABLE public.items REPLICA IDENTITY FULL;"))
    scene.run("ALTER TABLE public.items REPLICA IDENTITY FULL;")
    scene.follows("preimages" -> "true")(changes: _*)
  }

  replica("another unique column than the primary key is refused, also after selections and new names", "code", keyed) {
    scene =>
      assert(refused(Conditions.KeyNotFollowed)(scene.copy()).contains("keyColumns=id"))
      def renamed(feed: DataFrame) = feed
        .where("id <> ''")
        .select("note", "code", "id", "_change_type", "_commit_version", "_unchanged_columns")
        .withColumnRenamed("id", "code_")
        .withColumnRenamed("code", "id")
        .withColumnRenamed("code_", "code")
      refused(Conditions.KeyNotFollowed)(scene.start("keyColumns" -> "id")(renamed))
      scene.start("keyColumns" -> "code")(renamed).awaitTermination()
      assert(scene.replica == Seq("(a,1,one)", "(c,3,three)", "(b,2,two)"))
  }

  replica("a column of a table without a key is refused without images", "code", keyless) { scene =>
    val error = refused(Conditions.KeyNotFollowed)(scene.copy())
    assert(error.contains("Give public.items a primary key.") && error.contains("preimages=true"))
  }

  replica("a replica identity that moves to other columns ends the query, and its next start", "id", keyed) { scene =>
    val query = scene.start(Endless)(identity)
    try {
      eventually(assert(scene.replica.size == 3))
      scene.run(
        "UPDATE items SET note = 'before' WHERE id = '1'",
        "ALTER TABLE items DROP CONSTRAINT items_pkey, ADD PRIMARY KEY (code)",
        "UPDATE items SET id = '20' WHERE id = '2'"
      )
      val error = refused(Conditions.TableChanged)(query.awaitTermination(60000))
      assert(error.contains("the replica identity is code instead of id"))
    } finally query.stop()
    // What came before is delivered.
    assert(scene.replica.head == "(1,a,before)")
    refused(Conditions.KeyNotFollowed)(scene.copy())
  }

  replica("a replica identity that was another one for a while is noticed at the next change", "id", keyed) { scene =>
    scene.copy()
    scene.run(
      "ALTER TABLE items REPLICA IDENTITY USING INDEX items_code_key",
      "UPDATE items SET id = '20' WHERE id = '2'",
      "ALTER TABLE items REPLICA IDENTITY DEFAULT"
    )
    val error = refused(Conditions.TableChanged)(scene.copy())
    assert(error.contains("the replica identity is code instead of id"))
  }

  for (kind <- Seq("text", "citext"))
    replica(
      s"a key that changes its case only, in a replica keyed by $kind",
      "id",
      Seq("CREATE EXTENSION citext", "CREATE TABLE items (id citext PRIMARY KEY, code text, note text)"),
      kind) { scene =>
      def update(from: String, to: String) = s"UPDATE items SET id = '$to' WHERE id = '$from'"
      scene.run("INSERT INTO items VALUES ('x', 'x', 'x')")
      scene.follows("keyComparison" -> "database")(
        update("x", "X"),
        update("X", "y"),
        update("y", "Y"),
        "UPDATE items SET note = 'z' WHERE id = 'y'")
    }
}

private object ReplicaKeySuite {
  val numbers = new AtomicInteger
  val Endless: (String, String) = "numPartitions" -> "3"

  /** Options of the sink. */
  val Sink = Set("keyColumns", "keyComparison", "opColumn", "orderColumn")
}
