package io.epochal.rest.source

import java.nio.file.Files
import java.time.{Duration, Instant}

import com.github.tomakehurst.wiremock.http.Request
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.{ManualClock, SourceStream}
import io.epochal.support.SlowTests.slowIf
import io.epochal.testkit.MicroBatch

/** Polls at the end of an API: their frequency and cost. */
final class RestRefreshSuite extends AnyFunSuite {

  private val schema = StructType.fromDDL("id INT, name STRING")

  /** A stream over an API, read as by Spark, and its clock. */
  final private class Reading(api: TaggedApi, kind: String, more: (String, String)*) {
    val clock = new ManualClock(Instant.parse("2026-01-01T00:00:00Z"))
    val stream: SourceStream[RestPosition] =
      RestStreams.at(
        clock,
        api.url,
        Files.createTempDirectory("rest").resolve("0"),
        schema,
        TaggedApi.kinds(kind) ++ more: _*)
    private var at: Offset = stream.initialOffset()

    /** Whether there is a batch. */
    def poll(limit: ReadLimit = ReadLimit.allAvailable()): Boolean = batch(limit).nonEmpty

    def batch(limit: ReadLimit = ReadLimit.allAvailable()): Seq[Int] =
      MicroBatch.next(stream, at, limit).fold(Seq.empty[Int]) { end =>
        val ids = MicroBatch.read(stream, schema, at, end).map(_.head.asInstanceOf[Int])
        stream.commit(at)
        at = end
        assert(ids.nonEmpty, "an empty batch")
        ids
      }

    /** The records of a poll after so many seconds. */
    def after(seconds: Long): Seq[Int] = {
      clock.advance(seconds)
      batch()
    }

    /** The number of requests in so many seconds without a record, in which Spark polls five times a second. */
    def idle(seconds: Int): Int = {
      (1 to 5 * seconds).foreach { _ =>
        clock.advance(Duration.ofMillis(200))
        assert(!poll())
      }
      api.requests().size
    }
  }

  /** Polls whenever Spark does. */
  private val eager = "refreshInterval" -> "0s"

  private def tag(request: Request): Option[String] = Option(request.getHeader("If-None-Match"))

  TaggedApi.kinds.keys.toSeq.sorted.foreach { kind =>
    test(s"$kind: once the end was seen, no request is sent for refreshInterval", slowIf(kind != "cursor"): _*) {
      TaggedApi.using(records = 6) { api =>
        val reading = new Reading(api, kind, "refreshInterval" -> "30s")
        assert(reading.batch() == (0 until 6))
        api.requests()
        api.count = 9
        (1 to 29).foreach { _ =>
          reading.clock.advance(1)
          assert(!reading.poll())
        }
        assert(api.requests().isEmpty)
        reading.clock.advance(1)
        assert(reading.batch() == (6 until 9))
        assert(!reading.poll())
      }
    }

    test(
      s"$kind: an idle API gets a request a second at first, then two a minute, until a record comes",
      slowIf(kind != "cursor"): _*) {
      TaggedApi.using(records = 6) { api =>
        api.tags = _ => Nil
        val reading = new Reading(api, kind)
        assert(reading.batch() == (0 until 6))
        api.requests()
        assert(reading.idle(20) <= 5 && reading.idle(600) <= 21)
        api.count = 9
        assert(Iterator.continually(reading.after(1)).take(30).flatten.toSeq == (6 until 9))
        api.requests()
        assert(reading.idle(20) <= 5)
      }
    }

    test(
      s"$kind: polls that are answered by 304 stay a second apart, since they cost the API's limit nothing",
      slowIf(kind != "cursor"): _*) {
      TaggedApi.using(records = 6) { api =>
        val reading = new Reading(api, kind)
        assert(reading.batch() == (0 until 6))
        reading.idle(120): Unit
        // Where a header names the next page, every sixteenth request is a whole one.
        assert((55 to 65).contains(reading.idle(60)))
      }
    }

    test(s"$kind: an unchanged response is not sent again, and a changed one is read", slowIf(kind != "cursor"): _*) {
      TaggedApi.using(records = 6) { api =>
        val reading = new Reading(api, kind, eager)
        assert(reading.batch() == (0 until 6))
        (1 to 4).foreach(_ => assert(!reading.poll()))
        api.requests()
        (1 to 4).foreach(_ => assert(!reading.poll()))
        val polls = api.requests()
        assert(polls.size == 4 && polls.forall(tag(_).nonEmpty))
        Seq(7, 8, 9, 13).foreach { count =>
          val from = api.count
          api.count = count
          assert(reading.batch() == (from until count))
          assert(!reading.poll())
        }
      }
    }

    test(s"$kind: conditionalRequests=false requests whole responses only", slowIf(kind != "cursor"): _*) {
      TaggedApi.using(records = 6) { api =>
        val reading = new Reading(api, kind, eager, "conditionalRequests" -> "false")
        assert(reading.batch() == (0 until 6))
        (1 to 4).foreach(_ => assert(!reading.poll()))
        assert(api.requests().forall(tag(_).isEmpty))
      }
    }
  }

  test("pages without records that name another one: polls pause, and after a thousand pages each requests one") {
    TaggedApi.using(records = 4) { api =>
      api.endless = true
      val reading = new Reading(api, "cursor")
      assert(reading.batch() == (0 until 4))
      var asked = api.requests().size
      assert(asked == 101)
      Seq(20 -> 400, 280 -> 604, 600 -> 20).foreach { case (seconds, most) =>
        val requests = reading.idle(seconds)
        assert(requests <= most)
        asked += requests
      }
      val next = 4 * asked
      api.count = next + 2
      assert(Iterator.continually(reading.after(1)).take(30).flatten.toSeq == Seq(next, next + 1))
      api.requests()
      assert(reading.idle(20) <= 5)
    }
  }

  test("emptyPages=skip: polls pause, and never request fewer than a hundred pages without records", Slow) {
    TaggedApi.using(records = 4) { api =>
      api.endless = true
      val reading = new Reading(api, "cursor", "emptyPages" -> "skip", "refreshInterval" -> "1m")
      assert(reading.batch() == (0 until 4))
      api.requests()
      assert((1 to 12).forall(_ => reading.after(60).isEmpty && !reading.poll()) && api.requests().size == 1200)
    }
  }

  Seq("offset", "cursor").foreach { kind =>
    test(s"$kind: batches cut by a limit follow each other without waiting for the interval") {
      TaggedApi.using(records = 10) { api =>
        val reading = new Reading(api, kind, "refreshInterval" -> "1h")
        assert((1 to 4).flatMap(_ => reading.batch(ReadLimit.maxRows(3))) == (0 until 10))
        assert(!reading.poll(ReadLimit.maxRows(3)))
      }
    }
  }

  test("a limit that leaves records waiting does not delay the next poll") {
    TaggedApi.using(records = 10) { api =>
      val reading = new Reading(api, "cursor", "refreshInterval" -> "30s")
      val batches = (1 to 4).map { i =>
        if (i == 4) api.count = 11
        reading.clock.advance(10)
        reading.batch(ReadLimit.maxRows(3))
      }
      // The end was seen with the fourth batch, or before it: half a minute after that it is polled again.
      reading.clock.advance(30)
      assert((batches :+ reading.batch()).flatten == (0 until 11))
    }
  }

  test("AvailableNow reads a list to its end without a pause, and then ends") {
    Seq("offset", "cursor").foreach { kind =>
      TaggedApi.using(records = 10) { api =>
        val reading = new Reading(api, kind)
        reading.stream.prepareForTriggerAvailableNow()
        assert(Iterator.continually(reading.batch(ReadLimit.maxRows(3))).take(5).flatten.toSeq == (0 until 10))
      }
    }
  }

  test("AvailableNow polls at its start, regardless of the interval") {
    TaggedApi.using(records = 6) { api =>
      val reading = new Reading(api, "offset", "refreshInterval" -> "1h")
      reading.stream.prepareForTriggerAvailableNow()
      assert(reading.batch() == (0 until 6) && !reading.poll())
    }
  }

  test("Last-Modified is sent back if the response is at least a second younger, and not if a change could be hidden") {
    val modified = "Thu, 01 Jan 2026 00:00:00 GMT"
    Seq("Thu, 01 Jan 2026 00:00:01 GMT" -> 4, modified -> 0).foreach { case (date, conditional) =>
      TaggedApi.using(records = 3) { api =>
        api.tags = _ => Seq("Last-Modified" -> modified, "Date" -> date)
        api.same = (request, _) => request.containsHeader("If-Modified-Since") && api.count == 3
        val reading = new Reading(api, "none", eager)
        assert(reading.batch().size == 3)
        api.requests()
        (1 to 4).foreach(_ => assert(!reading.poll()))
        val polls = api.requests().map(request => Option(request.getHeader("If-Modified-Since")))
        assert(polls.count(_.contains(modified)) == conditional && polls.size == 4)
        api.count = 5
        assert(reading.batch() == Seq(3, 4))
      }
    }
  }

  Seq(true -> 1, false -> 16).foreach { case (linked, limit) =>
    test(
      s"a next page that only the Link header names is found behind a 304 that has it: $linked, within $limit polls") {
      TaggedApi.using(records = 4) { api =>
        api.linksIn304 = linked
        val reading = new Reading(api, "link", eager)
        assert(reading.batch() == (0 until 4))
        assert(!reading.poll())
        api.count = 6 // The first page is full, and stays the same.
        val polls = Iterator.continually(reading.batch()).take(limit).toSeq
        assert(polls.flatten == Seq(4, 5))
      }
    }
  }

  test("a POST, and a request with the user's own condition, get none of ours") {
    Seq("requestBody" -> "{}", "headers.If-Modified-Since" -> "Thu, 01 Jan 2026 00:00:00 GMT").foreach { option =>
      TaggedApi.using(records = 3) { api =>
        val reading = new Reading(api, "none", eager, option)
        assert(reading.batch().size == 3)
        (1 to 3).foreach(_ => assert(!reading.poll()))
        assert(api.requests().forall(tag(_).isEmpty))
      }
    }
  }

  test("an unrequested 304 is an error") {
    TaggedApi.using(records = 3) { api =>
      api.same = (_, _) => true
      val error = intercept[EpochalException](new Reading(api, "none").poll())
      assert(error.condition.name == "HTTP_STATUS" && error.getMessage.contains("304"))
    }
  }
}
