package io.epochal.jdbc

import java.sql.Connection

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.{Blocker, Database, Sessions, Writer}
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.postgres.PostgresDialect
import io.epochal.kit.sink.Run
import io.epochal.support.{Examples, SlowTests}

final class PostgresStuckPredecessorSuite extends StuckPredecessor(Postgres, InMiddle.ofPostgres) {

  /** A JVM that cannot load a class when a claim looks for the sessions that block it. */
  private object Unlinkable extends PostgresDialect {
    override val sessions: Option[Sessions] = PostgresDialect.sessions.map { working =>
      new Sessions {
        override def current(connection: Connection): Long = working.current(connection)
        override def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker] =
          throw new LinkageError("no blockers")
        override def end(connection: Connection, blocker: Blocker): Unit = working.end(connection, blocker)
        override def session(connection: Connection, id: Option[String]): Option[String] =
          working.session(connection, id)
        override def busy(connection: Connection, keys: Seq[String], milliseconds: Long): Set[String] =
          working.busy(connection, keys, milliseconds)
        override def endSession(connection: Connection, key: String): Unit = working.endSession(connection, key)
      }
    }
  }

  on("an error of the JVM in the look for blocking sessions ends the claim", table) { f =>
    write(f, f.newRun(query), 0, numbers(f, 0 until 10))
    val options = JdbcOptions.read(f.database.options("t") + ("lockTimeout" -> "3s")).toOption.get
    val database = new Database(Unlinkable, options, () => ())
    Using.resource(f.database.connect()) { unrelated =>
      unrelated.setAutoCommit(false)
      execute(unrelated, "UPDATE epochal_ledger SET v = v WHERE sink_id = 'sink'")
      val error = intercept[LinkageError](
        new JdbcSink(database).claim(Run("sink", query, "run"), f.schema)(_.current.toRight(missing)))
      assert(error.getMessage == "no blockers")
    }
  }

  private def missing: EpochalException = Conditions.LedgerEmpty("epoch" -> 0, "sinkId" -> "sink")
}
@Slow
final class Postgres13StuckPredecessorSuite extends StuckPredecessor(Postgres13, InMiddle.ofPostgres)
@Slow
final class MariadbStuckPredecessorSuite extends StuckPredecessor(Mariadb, InMiddle.ofMysql)
@Slow
final class Mysql8StuckPredecessorSuite extends StuckPredecessor(Mysql8, InMiddle.ofMysql)

/** How a test detects that a statement is running.
  *
  * @param slow
  *   slows down an INSERT of rows from 10 on
  */
final case class InMiddle(slow: Seq[String], loading: String, merging: String, drop: String)

object InMiddle {
  val ofPostgres: InMiddle = InMiddle(
    slow = Seq(
      "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END'",
      "CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW WHEN (NEW.id >= 10) EXECUTE FUNCTION slow()"
    ),
    loading =
      "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active' AND datname = current_database()",
    merging =
      "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND state = 'active' AND datname = current_database()",
    drop = "DROP TRIGGER slow ON t"
  )

  val ofMysql: InMiddle = InMiddle(
    slow = Seq("CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW SET @slept = IF(NEW.id < 10, 0, SLEEP(0.1))"),
    loading = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_rows_modified > 1000",
    merging = "SELECT 1 FROM information_schema.processlist WHERE state = 'User sleep' AND db = DATABASE()",
    drop = "DROP TRIGGER slow"
  )
}

/** A driver that dies or freezes during a statement, its successor, and unrelated sinks. */
abstract class StuckPredecessor(databases: TestDatabases, middle: InMiddle)
    extends SinkSuite(databases)
    with SlowTests
    with Eventually {

  override protected def isSlow(test: String): Boolean =
    test.contains("the successor of a driver") || test.contains("a claim that the ledger refuses")

  // With it a claim checks for blockers after 2 s; by default after 10 s.
  private val timeouts =
    if (Examples.isFull) Nil else Seq("lockTimeout" -> "6s")
  private val sink = ("sinkId" -> "sink") +: timeouts
  private val keyed = sink :+ ("keyColumns" -> "id")

  on(
    "the successor of a driver that was killed in a long merge claims within 30 s",
    "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, word TEXT)") { f =>
    f.database.execute(middle.slow: _*)
    val dead = StuckWriter.start(f.database.url, query, 1000, keyed: _*)
    try {
      during(f, dead, middle.merging)
      dead.kill()
      val successor = f.newRun(query, keyed.toMap)
      claimedWithin(30.seconds)(successor.newWrite().createStreamingWriterFactory(() => 1))
      f.database.execute(middle.drop)
      write(f, successor, 1, numbers(f, 10 until 20))
      holds(f, 0 until 20)
    } finally dead.kill()
  }

  on(
    "the successor of a driver that was frozen in the middle of its load claims within 60 s, and that one is fenced",
    table) { f =>
    val frozen = StuckWriter.start(f.database.url, query, 2000000, sink: _*)
    try {
      during(f, frozen, middle.loading)
      frozen.freeze()
      val successor = f.newRun(query, sink.toMap)
      claimedWithin(60.seconds)(successor.newWrite().createStreamingWriterFactory(() => 1))
      write(f, successor, 1, numbers(f, 10 until 20))
      frozen.thaw()
      assert(frozen.outcome() == Conditions.SinkFenced.name, frozen.output)
      holds(f, 0 until 20)
    } finally frozen.kill()
  }

  on("a claim that the ledger refuses ends no session: the run that it waited for commits", table) { f =>
    val first = f.newRun(query, Map("sinkId" -> "sink"))
    write(f, first, 0, numbers(f, 0 until 10))
    f.database.execute(middle.slow: _*)
    val healthy = Future(write(f, first, 1, numbers(f, 10 until 110)))
    eventually(timeout(30.seconds), interval(150.millis))(assert(f.database.query(middle.merging).nonEmpty))
    val newcomer = f.newRun(otherQuery, Map("sinkId" -> "sink", "lockTimeout" -> "3s", "retry.maxAttempts" -> "1"))
    refused(Conditions.QueryChanged)(newcomer.newWrite().createStreamingWriterFactory(() => 1))
    assert(!healthy.isCompleted)
    Await.result(healthy, 60.seconds)
    assert(first.metrics("outcome") == "applied")
    holds(f, 0 until 110)
  }

  on("a waiting claim delays no other sink, and its error names the blocking session, which is not ended", table) { f =>
    f.database.execute(
      "CREATE TABLE other (id BIGINT NOT NULL, word TEXT)",
      "CREATE TABLE third (id BIGINT NOT NULL, word TEXT)")
    val short = Map("sinkId" -> "sink", "lockTimeout" -> "3s", "retry.maxAttempts" -> "2")
    write(f, f.newRun(query, short), 0, numbers(f, 0 until 10))
    Using.resource(f.database.connect()) { unrelated =>
      unrelated.setAutoCommit(false)
      execute(unrelated, "UPDATE epochal_ledger SET v = v WHERE sink_id = 'sink'")
      val stuck = Future(f.newRun(query, short).newWrite().createStreamingWriterFactory(() => 1))
      Seq("other", "third").foreach { name =>
        val healthy = f.newRun(otherQuery, Map("sinkId" -> name, "dbtable" -> name))
        healthy.newWrite().createStreamingWriterFactory(() => 1)
      }
      assert(!stuck.isCompleted)
      Await.ready(stuck, 60.seconds)
      val error = stuck.value.get.failed.get.asInstanceOf[EpochalException]
      assert(error.condition.name == Conditions.SinkBlocked.name, error.getMessage)
      assert(error.getMessage.contains(s" ${session(unrelated)} "), error.getMessage)
      unrelated.rollback()
    }
  }

  on("sinks that start at the same moment in an empty database all start, and create one ledger") { f =>
    val sinks = (0 until 8).toList.map(i => s"sink$i")
    val all = Future.traverse(sinks.zipWithIndex) { case (sink, i) =>
      val options = Map(
        "sinkId" -> sink,
        "dbtable" -> s"t${i % 4}",
        "createTable" -> "true",
        "onNewQuery" -> sinks.mkString("append:", ",", ""))
      Future(f.newRun(query.replace("a", i.toString), options).newWrite().createStreamingWriterFactory(() => 1))
    }
    Await.result(all, 60.seconds): Unit
    assert(f.database.one("SELECT count(*) FROM epochal_ledger") == 8L)
  }

  private def session(connection: Connection): Long =
    Dialects.of(connection.getMetaData.getURL).get.sessions.get.current(connection)

  /** Waits until the writer has committed epoch 0, and shows the sign in its next. */
  private def during(f: JdbcSinkFixture, writer: StuckWriter, sign: String): Unit =
    eventually(timeout(90.seconds), interval(150.millis)) { // InnoDB refreshes its lists only after a pause of 100 ms
      assert(writer.isAlive, writer.output)
      assert(f.database.query("SELECT last_epoch FROM epochal_ledger WHERE last_epoch = 0").nonEmpty)
      assert(f.database.query(sign).nonEmpty)
    }

  private def claimedWithin(limit: FiniteDuration)(claim: => Any): Unit = {
    val start = System.nanoTime()
    claim: Unit
    val taken = (System.nanoTime() - start).nanos
    info(s"claimed after ${taken.toMillis} ms")
    assert(taken < limit)
  }

  protected def execute(connection: Connection, sql: String): Unit =
    Using.resource(connection.createStatement())(_.execute(sql)): Unit
}
