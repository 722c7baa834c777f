package io.epochal.jdbc

import java.time.Duration

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.concurrent.Eventually

import io.epochal.core.error.Conditions
import io.epochal.jdbc.database.ConnectionPool
import io.epochal.support.SlowTests

/** Upserts in PostgreSQL: what they leave behind, and how they wait for each other. */
final class PostgresMergeSuite extends SinkSuite(Postgres) with SlowTests with Eventually {

  override protected def isSlow(test: String): Boolean =
    Seq("many equal keys", "do not grow", "never deadlock").exists(test.contains(_))

  private val upsert = Map("sinkId" -> "sink", "keyColumns" -> "id")
  private val keyed = "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)"

  on("the catalogs do not grow with the epochs", keyed) { f =>
    def catalogs: Seq[Any] = f.database
      .query("""SELECT pg_relation_size('pg_class'), pg_relation_size('pg_attribute'), pg_relation_size('pg_type'),
               |pg_relation_size('pg_depend')""".stripMargin)
      .head
    def relations: Any = f.database.one("SELECT count(*) FROM pg_class")
    val run = f.newRun(query, upsert)
    (0 until 5).foreach(epoch => write(f, run, epoch.toLong, numbers(f, epoch until epoch + 2)))
    val before = (catalogs, relations)
    (5 until 105).foreach(epoch => write(f, run, epoch.toLong, numbers(f, epoch until epoch + 2)))
    assert((catalogs, relations) == before)
    holds(f, 0 until 106)
  }

  on("a session without a table for the rows, or with one of another shape, creates its own", keyed) { f =>
    write(f, f.newRun(query, upsert), 0, numbers(f, 0 until 2))
    ConnectionPool.sweep(Duration.ZERO)
    write(f, f.newRun(query, upsert), 1, numbers(f, 1 until 3))
    f.database.execute("ALTER TABLE t ALTER word TYPE varchar(20)")
    write(f, f.newRun(query, upsert), 2, numbers(f, 2 until 4))
    val known = ledger(f, "target_oid")
    f.database.execute("DROP TABLE t", "CREATE TABLE t (word TEXT, id BIGINT PRIMARY KEY)")
    write(f, f.newRun(query, upsert + ("onNewQuery" -> s"append:$known")), 3, numbers(f, 0 until 2))
    holds(f, 0 until 2)
  }

  on("an unrelated server error is not taken for duplicate keys", keyed) { f =>
    f.database.execute(
      "CREATE FUNCTION two() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM (SELECT generate_series(1, 2)); RETURN NEW; END'",
      "CREATE TRIGGER two BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION two()")
    val error = intercept[Exception](write(f, f.newRun(query, upsert), 0, numbers(f, 0 until 2)))
    assert(error.getMessage.contains("DATABASE_ERROR") && error.getMessage.contains("21000"))
  }

  private val composite = "CREATE TABLE t (a INT, b BIGINT, word TEXT, PRIMARY KEY (b, a))"
  private val schema = new StructType().add("b", LongType).add("a", IntegerType).add("word", StringType)

  /** @param keys
    *   of each sink, in the user's order
    */
  private def noDeadlock(claim: String, keys: Seq[String], rows: Seq[(Int, Int)], epochs: Int): Unit =
    onSchema(claim, schema, composite) { f =>
      val sinks = keys.zipWithIndex.map { case (columns, i) =>
        f.newRun(
          s"query $i",
          Map(
            "sinkId" -> s"sink$i",
            "keyColumns" -> columns,
            "onNewQuery" -> "append:sink0,sink1,sink2,sink3",
            "retry.maxAttempts" -> "1"))
      }
      // Sequentially: a sink's first epoch claims.
      def epoch(sink: Int, number: Int): Unit =
        write(
          f,
          sinks(sink),
          number.toLong,
          scala.util.Random.shuffle(rows).map { case (a, b) =>
            InternalRow(b.toLong, a, UTF8String.fromString(s"$sink $number"))
          })
      sinks.indices.foreach(epoch(_, 0))
      val running = sinks.indices.map(sink => Future((1 to epochs).foreach(epoch(sink, _))))
      Await.result(Future.sequence(running), 120.seconds)
      assert(f.database.one("SELECT count(*) FROM t") == rows.size.toLong)
      assert(f.database.one("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0L)
      assert(f.database.one("SELECT count(DISTINCT word) FROM t") == 1L)
    }

  noDeadlock(
    "sinks that upsert the same keys at the same time never deadlock",
    Seq("a,b", "b,a", "b,a"),
    for { a <- 0 until 40; b <- 0 until 40 } yield (a, b),
    epochs = 15)

  noDeadlock(
    "sinks that upsert many equal keys at the same time never deadlock",
    Seq("a,b", "b,a"),
    for { a <- 0 until 120; b <- 0 until 100 } yield (a, b),
    epochs = 5)

  private val many = 12000

  on("a key that another transaction inserts concurrently is replaced, among many rows too", keyed) { f =>
    val run = f.newRun(query, upsert)
    write(f, run, 0, numbers(f, 0 until many))
    Using.resource(f.database.connect()) { other =>
      other.setAutoCommit(false)
      Using.resource(other.createStatement())(_.execute(s"INSERT INTO t VALUES (${many + 5}, 'theirs')"))
      val epoch = Future(write(f, run, 1, numbers(f, many / 2 until 2 * many)))
      eventually(timeout(30.seconds))(assert(f.database.one("SELECT count(*) FROM pg_locks WHERE NOT granted") == 1L))
      other.commit()
      Await.result(epoch, 60.seconds)
    }
    holds(f, 0 until 2 * many)
    assert(f.database.one(s"SELECT word FROM t WHERE id = ${many + 5}") == s"row ${many + 5}")
  }

  on("duplicate keys among many rows are an error, whether or not they exist in the table", keyed) { f =>
    val run = f.newRun(query, upsert)
    val rows = numbers(f, 0 until many) ++ numbers(f, 7 to 7)
    assert(refused(Conditions.DuplicateKeys)(write(f, run, 0, rows)).values("rows") == "2")
    write(f, run, 0, numbers(f, 0 until many))
    assert(refused(Conditions.DuplicateKeys)(write(f, run, 1, rows)).values("rows") == "2")
    holds(f, 0 until many)
  }

  private val feed = StructType.fromDDL("id BIGINT, word STRING, _change_type STRING, _commit_version STRING")

  onSchema(
    "keys of a feed that follow those of the table do not make the server read them again for each row",
    feed,
    keyed) { f =>
    f.database.execute(s"INSERT INTO t SELECT i, 'old' FROM generate_series(1 - $many, 0) AS i", "ANALYZE t")
    val run = f.newRun(query, Map("sinkId" -> "sink", "mode" -> "changes", "keyColumns" -> "id"))
    write(
      f,
      run,
      0,
      (0 until many).map { id =>
        val texts = Seq("new", "insert", "%027d".format(id)).map(UTF8String.fromString)
        InternalRow.fromSeq(id.toLong +: texts)
      })
    // Sessions report what they have read when they end.
    ConnectionPool.sweep(Duration.ZERO)
    eventually(timeout(30.seconds)) {
      val read = f.database.one("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE relname = 't'")
      assert(read.asInstanceOf[Long] > 0 && read.asInstanceOf[Long] < 10L * many)
    }
    assert(f.database.one("SELECT count(*) FROM t WHERE word = 'new'") == many.toLong)
  }

  on("a table with a rule accepts many rows, too", keyed) { f =>
    f.database.execute("CREATE TABLE log (id BIGINT)")
    f.database.execute("CREATE RULE seen AS ON DELETE TO t DO ALSO INSERT INTO log VALUES (OLD.id)")
    val run = f.newRun(query, upsert)
    write(f, run, 0, numbers(f, 0 until many))
    write(f, run, 1, numbers(f, many / 2 until many + 10))
    holds(f, 0 until many + 10)
  }
}
