package io.epochal.jdbc

import scala.util.Using

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.support.NetworkProxy

/** How often an epoch waits for a server that is far away. */
final class RoundTripsSuite extends SinkSuite(Postgres) {

  private val Port = "//[^/:]+:(\\d+)/".r.unanchored
  private val keyed = "CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)"
  private val changes =
    new StructType().add("id", LongType, nullable = false).add("word", StringType).add("op", StringType)

  /** The round trips of the third epoch, and of a replay of it. */
  private def trips(f: JdbcSinkFixture, options: (String, String)*)(rows: Int => Seq[InternalRow]): (Int, Int) = {
    val Port(port) = f.database.url: @unchecked
    Using.resource(new NetworkProxy(port.toInt)) { proxy =>
      val run = f.newRun(query, Map("sinkId" -> "sink", "url" -> proxy.url(f.database.url)) ++ options)
      (0 to 1).foreach(epoch => write(f, run, epoch.toLong, rows(epoch)))
      proxy.roundTrips(): Unit
      write(f, run, 2, rows(2))
      val first = proxy.roundTrips()
      write(f, run, 2, rows(2))
      (first, proxy.roundTrips())
    }
  }

  private val feed = new StructType()
    .add("id", LongType)
    .add("word", StringType)
    .add("_change_type", StringType)
    .add("_commit_version", StringType)

  onSchema("an epoch of a change feed takes eight round trips", feed, keyed) { f =>
    val (first, _) = trips(f, "keyColumns" -> "id", "mode" -> "changes")(epoch =>
      (10 * epoch until 10 * (epoch + 1)).map { id =>
        InternalRow(
          id.toLong,
          UTF8String.fromString("a"),
          UTF8String.fromString("insert"),
          UTF8String.fromString(f"$id%016X"))
      })
    assert(first <= 8)
    holds(f, 0 until 30)
  }

  private def change(id: Int, op: String): InternalRow =
    InternalRow(id.toLong, UTF8String.fromString(s"row $id"), UTF8String.fromString(op))

  on("an epoch that appends takes four round trips, its replay two", table) { f =>
    val (first, replay) = trips(f)(epoch => numbers(f, 10 * epoch until 10 * (epoch + 1)))
    assert(first <= 4 && replay <= 2)
    holds(f, 0 until 30)
    assert(ledger(f, "epochs") == 3L && f.database.one("SELECT count(*) FROM epochal_ledger_history") == 3L)
  }

  on("an epoch that upserts takes six round trips", keyed) { f =>
    val (first, _) = trips(f, "keyColumns" -> "id")(epoch => numbers(f, epoch until 10 + epoch))
    assert(first <= 6)
    holds(f, 0 until 12)
  }

  onSchema("an epoch of changes takes eight round trips", changes, keyed) { f =>
    val (first, _) = trips(f, "keyColumns" -> "id", "opColumn" -> "op")(epoch =>
      (10 * epoch until 10 * (epoch + 1)).map(change(_, "insert")))
    assert(first <= 8)
    holds(f, 0 until 30)
  }

  onSchema("an epoch of changes with deletions takes eight round trips", changes, keyed) { f =>
    val (first, _) = trips(f, "keyColumns" -> "id", "opColumn" -> "op")(epoch =>
      (10 * epoch until 10 * (epoch + 1)).map(change(_, "insert")) ++
        (10 * (epoch - 1) until 10 * epoch).filter(_ >= 0).map(change(_, "delete")))
    assert(first <= 8)
    holds(f, 20 until 30)
  }
}
