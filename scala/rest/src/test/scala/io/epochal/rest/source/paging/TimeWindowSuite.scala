package io.epochal.rest.source.paging

import java.time.{Duration, Instant}

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.source.window.{Event, WindowApi, WindowFixture}
import io.epochal.support.SlowTests.slowIf
import io.epochal.testkit.MicroBatch

/** Time windows: which are requested, when, and which records of overlapping ones are delivered. */
final class TimeWindowSuite extends AnyFunSuite with WindowFixture {

  private val overlapping = Seq("overlap" -> "10m", "keyColumns" -> "id")

  WindowApi.kinds.keys.foreach { kind =>
    test(
      s"windowPagination=$kind: each window is requested once, regardless of batch limits and restarts",
      slowIf(kind != "cursor"): _*) {
      query(kind) { query =>
        (0 until 40).foreach(id => query.event(id, id.toLong))
        query.nowAt(41)
        val end = MicroBatch.next(query.stream, query.at, ReadLimit.maxRows(7)).get
        val logged = query.api.requests()
        val first = query.read(end)
        query.stream.stop()
        query.at = end
        query.restart()
        val others = query.batches(ReadLimit.maxRows(7))
        assert((first +: others).flatten == (0 until 40) && (first +: others).map(_.size) == Seq(7, 7, 7, 7, 7, 5))
        val requests = query.api.requests()
        val windows = (logged ++ requests).map(_.takeWhile(_ != '#')).distinct
        assert(windows == (0 until 4).map(n => s"${minutes(n * 10L)}/${minutes(n * 10L + 10)}"))
        // No run requests a partly delivered page again. A page that the first run had read ahead is requested once
        // more.
        assert(
          requests.forall(page => !logged.contains(page) && requests.count(_ == page) <= 2),
          s"$logged, then $requests")
        query.restart()
        assert(query.batch().isEmpty && query.api.requests().isEmpty)
      }
    }

    test(
      s"windowPagination=$kind: with an overlap, late events are delivered and no event twice, also by another run",
      slowIf(kind != "cursor"): _*) {
      query(kind, overlapping: _*) { query =>
        val ids = Iterator.from(0)
        val delivered = (1 to 12).flatMap { n =>
          (0 until 5).foreach(i => query.event(ids.next(), n * 10L - 10 + i * 2))
          if (n > 1) query.event(ids.next(), n * 10L - 15) // It belongs to the previous window.
          query.nowAt(n * 10L + 1)
          val rows = query.batches(ReadLimit.maxRows(n.toLong)).flatten
          if (n % 3 != 0) query.restart()
          rows
        }
        assert(delivered.sorted == (0 until 71) && delivered.size == 71)
        // The journal keeps the segments that the overlap needs, and a few batches.
        assert(query.segments.size < 20)
      }
    }

    test(
      s"windowPagination=$kind: a batch read requests each moment once, up to lag ago",
      slowIf(kind != "cursor"): _*) {
      WindowApi.using { api =>
        api.events = (0 until 40).map(id => Event(id, minutes(id.toLong))).toVector
        val ids = batchRead(api, kind, minutes(35).plusNanos(5), overlapping: _*)
        assert(ids == (0 until 35))
        assert(api.requests().map(_.takeWhile(_ != '#')).distinct.last == s"${minutes(30)}/${minutes(35)}")
      }
    }
  }

  Seq("none", "offset", "page", "link").foreach { kind =>
    test(s"windowPagination=$kind: windows of CSV", slowIf(kind != "page"): _*) {
      query(kind, "bodyFormat" -> "csv") { query =>
        query.api.body =
          (page, _) => page.map(event => s"event ${event.id},${event.id}\n").mkString("name,id\n", "", "")
        (0 until 40).foreach(id => query.event(id, id.toLong))
        query.nowAt(21)
        assert(query.batch(ReadLimit.maxRows(5)) == (0 until 5))
        query.restart()
        assert(query.batches(ReadLimit.maxRows(5)).flatten == (5 until 20))
        query.nowAt(41)
        assert(query.batch() == (20 until 40))
      }
    }
  }

  test("no window is requested before its end is lag in the past, and none is requested in between") {
    query("none") { query =>
      query.event(1, 5)
      Seq(0L, 9L, 10L).foreach { minute =>
        query.nowAt(minute)
        assert(query.batch().isEmpty)
      }
      query.clock.set(minutes(11).minusMillis(1))
      assert(query.batch().isEmpty && query.api.requests().isEmpty)
      query.nowAt(11)
      assert(query.batch() == Seq(1) && query.api.requests().size == 1)
      assert(query.batch().isEmpty && query.api.requests().isEmpty)
      assert(query.metric("rowsBehind") == "0" && query.metric("rowsBehindExact") == "true")
    }
  }

  test("empty windows make no batch, are requested once in a run, and are skipped by the next offset") {
    query("none") { query =>
      query.nowAt(1501)
      assert(query.batch().isEmpty && query.at == query.stream.initialOffset())
      assert(query.api.requests().size == 150)
      query.nowAt(1510)
      assert(query.batch().isEmpty && query.api.requests().isEmpty)
      query.event(1, 1505)
      query.nowAt(1520)
      assert(query.batch() == Seq(1) && query.api.requests().size == 1)
      query.restart()
      assert(query.batch().isEmpty && query.api.requests().isEmpty)
    }
  }

  test("many empty windows are skipped in one poll: AvailableNow does not stop within them") {
    query("cursor") { query =>
      query.stream.prepareForTriggerAvailableNow()
      query.event(1, 9995)
      query.nowAt(10001)
      assert(query.batch() == Seq(1) && query.api.requests().size == 1000)
    }
  }

  test("AvailableNow stops at the windows that were complete when it started") {
    query("offset") { query =>
      (0 until 40).foreach(id => query.event(id, id.toLong))
      query.nowAt(31)
      query.stream.prepareForTriggerAvailableNow()
      assert(query.batch(ReadLimit.maxRows(8)).size == 8)
      query.nowAt(100)
      assert(query.batches(ReadLimit.maxRows(8)).flatten == (8 until 30))
      query.restart()
      assert(query.batch() == (30 until 40))
    }
  }

  test("an event that appears later than lag is not seen without an overlap") {
    query("none") { query =>
      query.event(1, 5)
      query.nowAt(11)
      assert(query.batch() == Seq(1))
      query.event(2, 6)
      query.nowAt(41)
      assert(query.batch().isEmpty)
    }
  }

  test("a key of several fields distinguishes versions of a record; structures and nested fields compare as written") {
    query("none", "overlap" -> "10m", "keyColumns" -> "id,version,tags") { query =>
      var version = 1
      query.api.more = event => s""","version":$version,"other":{"id":{"x":[${event.id}]}},"tags":[{"id":1}, "a"]"""
      query.event(1, 5)
      query.nowAt(11)
      assert(query.batch() == Seq(1))
      query.restart()
      query.nowAt(21)
      assert(query.batch().isEmpty)
      version = 2
      query.event(2, 25)
      query.nowAt(31)
      assert(query.batch() == Seq(2))
    }
  }

  test("a record without a key is refused by the column's name") {
    query("none", "overlap" -> "10m", "keyColumns" -> "id,version") { query =>
      query.event(1, 5)
      query.nowAt(11)
      Seq("", ""","version":null""").foreach { more =>
        query.api.more = _ => more
        val error = failure(query.batch())
        assert(error.condition.name == "PAGINATION_MISMATCH")
        assert(error.getMessage.contains("no value for the key column 'version'"))
        assert(error.getMessage.contains("asked for the window from 20"), error.getMessage)
      }
    }
  }

  test("a replayed batch has the same rows, though windows have changed since") {
    query("link", overlapping: _*) { query =>
      (0 until 20).foreach(id => query.event(id, id.toLong))
      query.nowAt(11)
      assert(query.batch() == (0 until 10))
      query.nowAt(21)
      val start = query.at
      assert(query.batch() == (10 until 20))
      query.api.events = Vector.empty
      val end = query.at
      query.restart()
      assert(query.read(end, query.stream.deserializeOffset(start.json)) == (10 until 20))
    }
  }

  test("moments are written in the API's format") {
    val texts = Seq(
      "iso" -> "2026-01-01T00:00:00Z/2026-01-01T00:10:00Z",
      "iso-millis" -> "2026-01-01T00:00:00.000Z/2026-01-01T00:10:00.000Z",
      "epoch-seconds" -> "1767225600/1767226200",
      "epoch-millis" -> "1767225600000/1767226200000")
    texts.foreach { case (format, text) =>
      query("none", "windowFormat" -> format) { query =>
        query.api.moment = moment =>
          if (format == "epoch-seconds") Instant.ofEpochSecond(moment.toLong)
          else if (format == "epoch-millis") Instant.ofEpochMilli(moment.toLong)
          else Instant.parse(moment)
        query.event(1, 0)
        query.event(2, 10)
        query.nowAt(11)
        assert(query.batch() == Seq(1) && query.api.requests() == Seq(s"$text#0"))
      }
    }
  }

  test("windows of whole days can be requested by dates") {
    query("none", "windowFormat" -> "iso-date", "windowLength" -> "1d", "overlap" -> "1d", "keyColumns" -> "id") {
      query =>
        query.api.moment = date => Instant.parse(s"${date}T00:00:00Z")
        (0 until 4).foreach(n => query.event(n, n * 12 * 60L + 5))
        query.nowAt(2 * 24 * 60L + 1)
        assert(query.batch() == (0 until 4))
        assert(query.api.requests() == Seq("2026-01-01/2026-01-02#0", "2026-01-01/2026-01-03#0"))
    }
  }

  test("the window's parameters can be renamed, and a POST body has placeholders for the window and the page") {
    val place = "$"
    query("none", "windowFromParam" -> "since", "windowToParam" -> "until") { query =>
      query.event(1, 5)
      query.nowAt(11)
      assert(query.batch() == Seq(1))
    }
    Seq(
      "none" -> s"""{"from": "$place{windowFrom}", "to": "$place{windowTo}"}""",
      "offset" -> s"""{"from": "$place{windowFrom}", "to": "$place{windowTo}", "_start": $place{offset}, "n": $place{limit}}""",
      "page" -> s"""{"from": "$place{windowFrom}", "to": "$place{windowTo}", "page": $place{page}}""",
      "cursor" -> s"""{"from": "$place{windowFrom}", "to": "$place{windowTo}", "cursor": "$place{cursor}"}"""
    ).foreach { case (kind, body) =>
      val first = if (kind == "cursor") Seq("firstCursor" -> "c0") else Nil
      query(kind, first :+ ("requestBody" -> body): _*) { query =>
        (0 until 20).foreach(id => query.event(id, id.toLong))
        query.nowAt(21)
        assert(query.batch() == (0 until 20), kind)
      }
    }
    query("page", "requestBody" -> """{"search": "all"}""") { query =>
      (0 until 20).foreach(id => query.event(id, id.toLong))
      query.nowAt(21)
      assert(query.batch() == (0 until 20))
    }
  }

  test("links within a window repeat the window's parameters, and are followed within this window only") {
    query("next-url", "params.key" -> "hunter2") { query =>
      (0 until 20).foreach(id => query.event(id, id.toLong))
      query.nowAt(21)
      assert(query.batch(ReadLimit.maxRows(2)) == Seq(0, 1))
      assert(query.at.json.contains("from={0}&to={0}") && !query.at.json.contains("hunter2"))
      query.restart()
      assert(query.batches().flatten == (2 until 20))
    }
  }

  test("more pages than maxPages in one window are an error, and many windows are not") {
    query("cursor", "maxPages" -> "3") { query =>
      (0 until 90).foreach(id => query.event(id, id.toLong))
      query.api.pageSize = 4
      query.nowAt(91)
      assert(query.batch() == (0 until 90))
      query.api.pageSize = 2
      query.event(90, 91)
      (91 until 100).foreach(id => query.event(id, 92))
      query.nowAt(101)
      val error = failure(query.batch())
      assert(error.condition.name == "TOO_MANY_PAGES" && error.getMessage.contains("more than 3 pages"))
    }
  }

  test("the pages of a window count together against maxPages, also over several polls") {
    query("cursor", "maxPages" -> "3") { query =>
      (0 until 10).foreach(id => query.event(id, id.toLong))
      query.api.pageSize = 1
      query.nowAt(11)
      var delivered = Seq.empty[Int]
      val error = failure((1 to 9).foreach(_ => delivered ++= query.batch(ReadLimit.maxRows(1))))
      assert(error.condition.name == "TOO_MANY_PAGES" && delivered == Seq(0, 1, 2))
    }
  }

  Seq("offset", "page").foreach { kind =>
    test(s"windowPagination=$kind: a server that returns the same page forever is refused; equal records are not") {
      query(kind) { query =>
        (0 until 10).foreach(id => query.event(id, id.toLong))
        query.nowAt(11)
        query.api.placed = _ => 0
        var delivered = Seq.empty[Int]
        val error = failure((1 to 9).foreach(_ => delivered ++= query.batch(ReadLimit.maxRows(1))))
        assert(error.condition.name == "PAGINATION_MISMATCH" && delivered == Seq(0, 1, 2))
        val parameter = if (kind == "page") "page" else "_start"
        assert(error.getMessage.contains(s"the same page for every request: it ignores the parameter '$parameter'."))
        query.api.placed = identity
        query.api.events = query.api.events.map(_.copy(id = 7, at = minutes(3)))
        assert(query.batch() == Seq.fill(7)(7))
      }
    }
  }

  test("a one-page window without a link is not the end until some window had one, also after a restart") {
    query("link") { query =>
      (0 until 2).foreach(query.event(_, 1))
      query.nowAt(11)
      assert(failure(query.batch()).condition.name == "CONTINUATION_MISSING")
      (2 until 5).foreach(query.event(_, 2))
      assert(query.batch() == (0 until 5))
      query.restart()
      query.event(5, 12)
      query.nowAt(21)
      assert(query.batch() == Seq(5))
    }
  }

  test("a failed request leaves the position unchanged") {
    Seq(403 -> "HTTP_STATUS", 404 -> "PAGE_REFUSED").foreach { case (status, condition) =>
      query("offset", overlapping: _*) { query =>
        (0 until 20).foreach(id => query.event(id, id.toLong))
        query.nowAt(21)
        var requests = 0
        query.api.before = () => { requests += 1; if (requests == 3) status else 200 }
        assert(failure(query.batch()).condition.name == condition)
        assert(query.batch() == (0 until 20))
      }
    }
  }

  test("an offset of another pagination is refused, even under the same sourceId") {
    query("none", "sourceId" -> "s") { query =>
      val cursor =
        """{"v":2,"format":"epochal-rest","source":"s","records":5,"segments":[],"next":{"token":"c5","taken":0}}"""
      val error = failure(query.stream.deserializeOffset(cursor))
      assert(error.condition.name == "OFFSET_INVALID" && error.getMessage.contains("pagination=time-window"))
    }
  }

  test("a stream that was never logged begins at windowStart; a logged position takes precedence") {
    query("none") { query =>
      (0 until 40).foreach(id => query.event(id, id.toLong))
      query.restart("windowStart" -> s"${minutes(10)}")
      query.nowAt(21)
      assert(query.batch() == (10 until 20))
      query.restart("windowStart" -> s"${minutes(0)}", "windowLength" -> "5m")
      query.clock.advance(Duration.ofMinutes(5))
      assert(query.batch() == (20 until 25))
    }
  }

  test("long sequences of empty windows are skipped in pieces that an offset remembers") {
    query("none", "maxPollBytes" -> "1", "maxPollTime" -> "1ms") { query =>
      query.event(7, 995)
      query.nowAt(1001)
      query.stream.prepareForTriggerAvailableNow()
      val begun = query.at
      val pieces = Iterator.continually(query.batch()).take(101).takeWhile(_.isEmpty).size
      assert(pieces > 0 && query.read(query.at, begun) == Seq(7))
      query.api.requests()
      query.restart()
      assert(query.batch().isEmpty && query.api.requests().isEmpty)
    }
  }
}
