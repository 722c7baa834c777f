package io.epochal.rest.source.supply

import java.nio.file.Files
import java.time.Duration
import java.util.concurrent.TimeUnit.MILLISECONDS

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.source.{PollBounds, PollBudget}
import io.epochal.rest.source._
import io.epochal.testkit.MicroBatch

/** A long list is delivered in pieces while it is read. */
final class RestCrawlSuite extends AnyFunSuite with ChainFixture {

  private def batches(query: Query): Vector[Seq[Int]] =
    Iterator.continually(query.batch()).takeWhile(_.nonEmpty).toVector

  ChainApi.kinds.keys.foreach { kind =>
    test(
      s"$kind: a crawl under AvailableNow is delivered piece by piece, each page requested once, and ends where it saw the end") {
      query(40, kind, "maxPollBytes" -> "1") { query =>
        query.stream.prepareForTriggerAvailableNow()
        val first = query.batch()
        assert(first == (0 until 4) && query.api.requests().size <= 2)
        val others = batches(query)
        assert(others.flatten == (4 until 40) && others.forall(_.size == 4))
        assert(query.api.requests().size <= 11)
        query.api.count = 50
        assert(query.batch().isEmpty && query.api.requests().isEmpty)
        query.restart()
        assert(batches(query).flatten == (40 until 50))
      }
    }
  }

  test(
    "a crawl under AvailableNow with more than maxPages pages is an error; the next run resumes after the delivered records") {
    query(40, "cursor", "maxPollBytes" -> "1", "maxPages" -> "6") { query =>
      query.stream.prepareForTriggerAvailableNow()
      var delivered = Seq.empty[Int]
      val error = failure((0 until 10).foreach(_ => delivered ++= query.batch()))
      assert(error.condition.name == "TOO_MANY_PAGES" && delivered.size >= 20 && delivered.size <= 24)
      query.restart()
      assert(delivered ++ batches(query).flatten == (0 until 40))
    }
  }

  test("a killed run costs the piece of the crawl that was not logged") {
    query(400, "cursor", "maxPollBytes" -> "1") { query =>
      query.stream.prepareForTriggerAvailableNow()
      (0 until 50).foreach(n => assert(query.batch() == (n * 4 until n * 4 + 4)))
      query.api.requests()
      query.restart()
      query.stream.prepareForTriggerAvailableNow()
      assert(query.batch() == (200 until 204) && query.api.requests().head == "c200")
      assert(query.segments.size <= 8)
    }
  }

  test("every trigger's polls are bounded, including the first one, by bytes and by time") {
    Seq("maxPollBytes" -> "1", "maxPollTime" -> "1ms").foreach { bound =>
      query(40, "cursor", bound) { query =>
        query.api.before = () => {
          MILLISECONDS.sleep(2)
          200
        }
        assert(query.batch() == (0 until 4) && batches(query).flatten == (4 until 40))
      }
    }
  }

  test("a poll that is cut by its bounds reports that more follows, not how much") {
    query(40, "cursor", "maxPollBytes" -> "1") { query =>
      query.at = MicroBatch.next(query.stream, query.at, ReadLimit.allAvailable()).get
      assert(query.metric("rowsBehindExact") == "false" && query.metric("rowsBehind") == null)
      assert(batches(query).flatten == (4 until 40))
      assert(query.metric("rowsBehindExact") == "true" && query.metric("rowsBehind") == "0")
    }
  }

  test("counted pages with a journal are delivered in pieces, up to the end at the start") {
    RecordsApi.using(records = 200) { api =>
      val options = Seq(
        "pagination" -> "offset",
        "pageSize" -> "5",
        "journal" -> "true",
        "numPartitions" -> "1",
        "maxPollBytes" -> "1")
      val stream = RestStreams.over(api.url, Files.createTempDirectory("rest").resolve("0"), schema, options: _*)
      stream.prepareForTriggerAvailableNow()
      var at = stream.initialOffset()
      val pieces = Iterator
        .continually(MicroBatch.next(stream, at, ReadLimit.allAvailable()))
        .takeWhile(_.nonEmpty)
        .flatten
        .map { end =>
          api.count = 300
          val ids = MicroBatch.read(stream, schema, at, end).map(_.head.asInstanceOf[Int])
          at = end
          ids
        }
        .toVector
      assert(pieces.flatten == (0 until 200) && pieces.size >= 5)
      stream.stop()
    }
  }

  test("segments of a killed run are removed once the next run's first batch is logged, and not before") {
    query(40, "cursor") { query =>
      query.batch(ReadLimit.maxRows(4))
      query.stream.latestOffset(query.at, ReadLimit.maxRows(8))
      query.stream.latestOffset(query.at, ReadLimit.maxRows(20))
      val left = query.segments.toSet
      query.stream = query.start() // The other one was killed, without stopping.
      query.stream.latestOffset(query.at, ReadLimit.maxRows(4))
      assert(left.size == 3 && left.subsetOf(query.segments.toSet))
      assert(query.batch(ReadLimit.maxRows(4)) == (4 until 8))
      assert(query.segments.toSet.intersect(left).size == 1)
      assert(query.batch() == (8 until 40))
    }
  }

  test("each poll starts with full bounds") {
    var now = 0L
    val budget = new PollBudget(PollBounds(Duration.ofSeconds(1), 10), () => now)
    budget.spend(9)
    assert(!budget.spent)
    budget.spend(1)
    assert(budget.spent)
    now += 5000000000L
    budget.begin()
    assert(!budget.spent)
    now += 1000000000L
    assert(budget.spent)
  }
}
