package io.epochal.rest.source.supply

import java.nio.file.Files
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.SpanSugar._

import io.epochal.rest.source._
import io.epochal.testkit.MicroBatch

/** Receiving ahead while a batch runs. */
final class ReadAheadSuite extends AnyFunSuite with ChainFixture with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(20.seconds, 10.milliseconds)

  private val Four = ReadLimit.maxRows(4)

  /** Plans a batch of one page, as Spark does before its tasks begin. */
  private def plan(query: Query, from: Offset): Offset = {
    val end = MicroBatch.next(query.stream, from, Four).get
    val _ = query.stream.planInputPartitions(from, end)
    end
  }

  test("while a batch of a limited size runs, as much again is received, and nothing beyond") {
    query(40, "cursor") { query =>
      val first = plan(query, query.at)
      eventually(assert(query.metric("rowsBehind") == "8"))
      assert(query.api.requests() == Seq("", "c4"))
      val second = MicroBatch.next(query.stream, first, Four).get
      assert(query.api.requests().isEmpty && query.read(second, first) == (4 until 8))
      assert(query.read(first) == (0 until 4))
    }
  }

  test("after a batch that reached the end nothing is read ahead; nor under AvailableNow once the end was seen") {
    query(4, "cursor") { query =>
      plan(query, query.at): Unit
      assert(query.api.requests() == Seq(""))
    }
    query(40, "cursor") { query =>
      query.stream.prepareForTriggerAvailableNow()
      val first = plan(query, query.at)
      eventually(assert(query.metric("rowsBehind") == "8"))
      assert(query.api.requests() == Seq("", "c4"))
      val all = MicroBatch.next(query.stream, first, ReadLimit.allAvailable()).get
      assert(query.api.requests().size == 8 && query.read(all, first) == (4 until 40))
      query.api.count = 50
      assert(MicroBatch.next(query.stream, all, ReadLimit.allAvailable()).isEmpty && query.api.requests().isEmpty)
    }
  }

  test("a failure while a batch runs is retried by the next poll, which reports it if it persists") {
    query(40, "cursor", "retry.maxAttempts" -> "1") { query =>
      val sound = query.api.before
      def broken(body: => Any): Unit = {
        val refused = new CountDownLatch(1)
        query.api.before = () => {
          refused.countDown()
          418
        }
        val _ = body
        assert(refused.await(20, TimeUnit.SECONDS))
      }
      val end = MicroBatch.next(query.stream, query.at, Four).get
      broken(assert(query.read(end) == (0 until 4)))
      assert(failure(MicroBatch.next(query.stream, end, Four)).condition.name == "HTTP_STATUS")
      query.at = end
      query.api.before = sound
      val next = MicroBatch.next(query.stream, end, Four).get
      broken(assert(query.read(next) == (4 until 8)))
      query.at = next
      query.api.before = sound
      val rest = Iterator.continually(query.batch(Four)).takeWhile(_.nonEmpty).toVector
      assert(rest.flatten == (8 until 40) && rest.forall(_.size == 4))
    }
  }

  test("nothing is read ahead beyond a known end, nor polled before refreshInterval is over") {
    // The last page is not full, so no page behind it is requested to see whether the total is capped.
    RecordsApi.using(records = 24) { api =>
      api.total = () => "24"
      val options = Seq(
        "pagination" -> "offset",
        "pageSize" -> "5",
        "journal" -> "true",
        "totalCountHeader" -> "X-Total",
        "refreshInterval" -> "1h")
      val stream = RestStreams.over(api.url, Files.createTempDirectory("rest").resolve("0"), schema, options: _*)
      def next(at: Offset): Option[Offset] = MicroBatch.next(stream, at, ReadLimit.maxRows(10))
      val offsets = Iterator
        .iterate(Option(stream.initialOffset()))(_.flatMap { at =>
          val end = next(at)
          end.foreach(stream.planInputPartitions(at, _))
          end
        })
        .takeWhile(_.nonEmpty)
        .flatten
        .toVector
      val requests = api.requests()
      stream.planInputPartitions(offsets(2), offsets(3)): Unit
      assert(offsets.size == 4 && next(offsets(3)).isEmpty && api.requests().isEmpty)
      assert(requests.forall(!_.contains("_start=25")), requests)
      stream.stop()
    }
  }

  test("a batch that is planned again has the same rows, though more was received after it") {
    query(40, "cursor") { query =>
      val first = plan(query, query.at)
      eventually(assert(query.metric("rowsBehind") == "8"))
      val other = MicroBatch.next(query.stream, query.at, ReadLimit.maxRows(6)).get
      assert(query.read(other) == (0 until 6) && query.read(first) == (0 until 4))
      query.at = other
      assert(Iterator.continually(query.batch(Four)).takeWhile(_.nonEmpty).flatten.toSeq == (6 until 40))
    }
  }

  test("a stop aborts receiving, and leaves no incomplete file") {
    query(40, "cursor") { query =>
      val requested = new CountDownLatch(1)
      val response = new CountDownLatch(1)
      val end = MicroBatch.next(query.stream, query.at, Four).get
      query.api.before = () => {
        requested.countDown()
        response.await(60, TimeUnit.SECONDS): Unit
        200
      }
      query.stream.planInputPartitions(query.at, end): Unit
      assert(requested.await(20, TimeUnit.SECONDS))
      val start = System.nanoTime()
      query.stream.stop()
      assert(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) < 10)
      response.countDown()
      assert(query.segments.size == 1)
      query.restart()
      query.at = end
      assert(query.batch() == (4 until 40))
    }
  }
}
