package io.epochal.jdbc

import java.nio.file.Files

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.Using

import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually.{PatienceConfig, eventually, scaled}
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.{Failpoint, Failpoints}
import io.epochal.jdbc.database.ConnectionWatch
import io.epochal.kit.database.LoginDataSource
import io.epochal.support.{NetworkProxy, SlowTests}

final class PostgresDeadConnectionSuite extends DeadConnectionSuite(Postgres) with SlowTests {
  override protected def isSlow(test: String): Boolean = !test.contains("COMMIT")
}

@Slow
final class StagedDeadConnectionSuite extends DeadConnectionSuite(PostgresBy.staged) {
  override protected def steps: Seq[Failpoint] = super.steps :+ Failpoint.TaskStaged :+ Failpoint.BeforeCleanup
}

@Slow
final class PreparedDeadConnectionSuite extends DeadConnectionSuite(PostgresBy.prepared) {
  override protected def steps: Seq[Failpoint] = super.steps :+ Failpoint.BeforeCommitPrepared
}

@Slow
final class MariadbDeadConnectionSuite extends DeadConnectionSuite(Mariadb)
@Slow
final class Mysql8DeadConnectionSuite extends DeadConnectionSuite(Mysql8)

/** Connections that a proxy keeps open and forwards nothing over. */
abstract class DeadConnectionSuite(databases: TestDatabases) extends SinkSuite(databases) with BeforeAndAfterAll {
  implicit protected val patience: PatienceConfig = PatienceConfig(scaled(Span(30, Seconds)), scaled(Span(5, Millis)))
  private val before = (ConnectionWatch.pause, LoginDataSource.limit)

  override def beforeAll(): Unit = {
    ConnectionWatch.pause = 300
    LoginDataSource.limit = 1000
  }

  override def afterAll(): Unit = {
    ConnectionWatch.pause = before._1
    LoginDataSource.limit = before._2
  }

  /** Asserts that the epoch is stored once, although the connections die here. */
  protected def steps: Seq[Failpoint] =
    Seq(Failpoint.BeforeLedgerLock, Failpoint.AfterLoad, Failpoint.LedgerWritten, Failpoint.BeforeCommit)

  private val Port = "//[^/:]+:(\\d+)/".r.unanchored

  private def through(f: JdbcSinkFixture)(body: NetworkProxy => Any): Unit = {
    val Port(port) = f.database.url: @unchecked
    Using.resource(new NetworkProxy(port.toInt))(body): Unit
  }

  private def run(f: JdbcSinkFixture, proxy: NetworkProxy): JdbcRun =
    f.newRun(query, Map("sinkId" -> "sink", "url" -> proxy.url(f.database.url)) ++ unencrypted)

  /** The proxy reads requests; MySQL's driver encrypts them by default. */
  private def unencrypted: Map[String, String] =
    if (databases.kind.startsWith("MySQL")) Map("connection.sslMode" -> "DISABLED") else Map.empty

  /** Runs `body`; while it is held at the step, the connections die. */
  private def dying(proxy: NetworkProxy, step: Failpoint)(body: => Unit): Unit = {
    val gate = Files.createTempFile("epochal", "gate")
    Failpoints.arm(s"${step.name}=hold:$gate@1")
    val writing = Future(body)
    eventually(assert(Failpoints.isHeld(step) || writing.isCompleted))
    assert(Failpoints.isHeld(step), s"${step.name} was not reached")
    proxy.stall()
    Files.delete(gate)
    Await.result(writing, 60.seconds)
    Failpoints.disarm()
  }

  on("connections that die silently at a step of an epoch before its COMMIT cost a retry, and no row", table) { f =>
    through(f) { proxy =>
      val mine = run(f, proxy)
      steps.zipWithIndex.foreach { case (step, i) =>
        dying(proxy, step)(write(f, mine, i.toLong, numbers(f, 10 * i until 10 * (i + 1))))
        holds(f, 0 until 10 * (i + 1))
      }
      assert(ledger(f, "epochs") == steps.size)
    }
  }

  on("connections that die silently in the claim cost a retry, and no row", table) { f =>
    through(f) { proxy =>
      write(f, run(f, proxy), 0, numbers(f, 0 until 10))
      dying(proxy, Failpoint.BeforeClaim)(write(f, run(f, proxy), 1, numbers(f, 10 until 20)))
      holds(f, 0 until 20)
    }
  }

  on("a server that accepts connections and stays silent is unreachable, and reached again once it speaks", table) { f =>
    through(f) { proxy =>
      proxy.stallAll()
      refused(Conditions.DatabaseUnreachable)(run(f, proxy))
      proxy.recover()
      val mine = run(f, proxy)
      proxy.stallAll()
      val writing = Future(write(f, mine, 0, numbers(f, 0 until 10)))
      eventually(assert(mine.metrics("retries") != "0" || writing.isCompleted))
      proxy.recover()
      Await.result(writing, 60.seconds)
      holds(f, 0 until 10)
    }
  }

  on("a long statement is not interrupted", table) { f =>
    through(f) { proxy =>
      val mine = run(f, proxy)
      write(f, mine, 0, numbers(f, 0 until 10))
      slowInserts(f.database)
      write(f, mine, 1, numbers(f, 10 until 20))
      holds(f, 0 until 20)
      assert(mine.metrics("retries") == "0")
    }
  }

  /** Ten inserts then take as long as twenty looks. */
  private def slowInserts(database: TestDatabase): Unit =
    if (databases.kind.startsWith("PostgreSQL"))
      database.execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.6); RETURN NEW; END'",
        "CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION slow()")
    else
      database.execute(
        "CREATE TRIGGER slow BEFORE INSERT ON t FOR EACH ROW SET NEW.word = IF(SLEEP(0.6) = 0, NEW.word, '')")

  // A task whose COMMIT is lost fails, and Spark repeats it.
  if (!databases.kind.contains("staged"))
    on("a COMMIT whose response never comes is resolved, and its epoch is stored once", table) { f =>
      through(f) { proxy =>
        val mine = run(f, proxy)
        write(f, mine, 0, numbers(f, 0 until 10))
        proxy.loseResponse("(?i)COMMIT(\u0000|$)".r)
        write(f, mine, 1, numbers(f, 10 until 20))
        assert(proxy.hasLostResponse)
        holds(f, 0 until 20)
        assert(mine.metrics("retries") == "1" && ledger(f, "epochs") == 2L)
      }
    }
}
