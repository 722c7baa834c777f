package io.epochal.rest.source

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.testkit.MicroBatch

/** Lists that state their length, and lists that have become shorter. */
final class RestDriftSuite extends AnyFunSuite with CountedFixture {

  private val inBody = Seq("totalCount" -> "/meta/total", "records" -> "/data")
  private val inHeader = Seq("totalCountHeader" -> "X-Total")

  final private class Totalled(api: RecordsApi, options: Seq[(String, String)]) extends Query(api, options) {
    var total: () => String = () => api.count.toString
    if (options.exists(_._1 == "totalCount")) api.body = array => s"""{"meta":{"total":${total()}},"data":$array}"""
    if (options.exists(_._1 == "totalCountHeader")) api.total = () => total()
  }

  private def totalled(records: Int, options: (String, String)*)(body: Totalled => Any): Unit =
    RecordsApi.using(records) { api =>
      val _ = body(new Totalled(api, Seq("pageSize" -> "10") ++ options))
    }

  private def problem(body: => Any): String = {
    val error = failure(body)
    assert(error.condition.name == "PAGINATION_MISMATCH")
    error.getMessage
  }

  for {
    kind <- Seq("offset", "page")
    (place, options) <- Seq("body" -> inBody, "header" -> inHeader)
  } test(s"$kind: a total in the $place finds the end with one request, through any growth") {
    totalled(0, options :+ ("pagination" -> kind): _*) { query =>
      val delivered = Seq(0, 1, 9, 10, 11, 30, 31, 5000).map { count =>
        query.api.count = count
        val rows = query.batch()
        query.api.requests()
        assert(MicroBatch.next(query.stream, query.at, ReadLimit.allAvailable()).isEmpty)
        // The page after the last full one is requested at the first idle poll, and at every sixteenth.
        assert(query.api.requests().size == (if (count > 0 && count % 10 == 0) 2 else 1))
        rows
      }
      assert(delivered.flatten == (0 until 5000))
      query.api.count = 9000
      query.api.requests()
      val end = MicroBatch.next(query.stream, query.at, ReadLimit.allAvailable()).get
      // The page of the new end is requested for the record that identifies it.
      assert(end.json.contains("\"records\":9000") && query.api.requests().size == 2)
    }
  }

  test("a total counts with a journal, and in a batch read's plan") {
    totalled(95, inBody ++ Seq("pagination" -> "page", "journal" -> "true"): _*) { query =>
      assert(query.batch(ReadLimit.maxRows(50)) == (0 until 50) && query.batch() == (50 until 95))
    }
  }

  test("a list that changes between its count and its page is requested again") {
    totalled(30, inBody :+ ("pagination" -> "offset"): _*) { query =>
      assert(query.batch() == (0 until 30))
      query.api.count = 31
      val totals = Iterator("30") ++ Iterator.continually("31")
      query.total = () => totals.synchronized(totals.next())
      assert(query.batch() == Seq(30))
    }
  }

  test("a total that is missing is refused by its place") {
    totalled(30, inHeader :+ ("pagination" -> "page"): _*) { query =>
      query.total = () => null
      assert(problem(query.batch()).contains("does not say at the header X-Total"))
    }
  }

  Seq(Nil, inHeader).foreach { options =>
    val name = if (options.isEmpty) "a list" else "a list with a total"

    test(
      s"$name that has become shorter fails with both numbers, waits, or is read again, by onDrift and failOnDataLoss") {
      Seq(
        Nil -> "fail",
        Seq("failOnDataLoss" -> "false") -> "warn",
        Seq("onDrift" -> "fail", "failOnDataLoss" -> "false") -> "fail",
        Seq("onDrift" -> "warn") -> "warn",
        Seq("onDrift" -> "restart") -> "restart"
      ).foreach { case (drift, outcome) =>
        totalled(30, options ++ drift :+ ("pagination" -> "offset"): _*) { query =>
          assert(query.batch() == (0 until 30))
          query.api.count = 12
          outcome match {
            case "fail" =>
              val error = failure(query.batch())
              assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 12 to 30"))
              assert(error.getMessage.contains("only 12 records left"))
            case "warn" =>
              assert(query.batch().isEmpty)
              query.api.count = 33
              assert(query.batch() == (30 until 33))
            case _ =>
              assert(query.batch() == (0 until 12))
              query.api.count = 14
              assert(query.batch() == Seq(12, 13) && query.batch().isEmpty)
          }
        }
      }
    }
  }

  Seq("none", "offset", "page").foreach { kind =>
    test(
      s"$kind: a list that is read again is read in replayable batches, also by another run, as often as it shrinks") {
      val size = if (kind == "none") Nil else Seq("pageSize" -> "10")
      RecordsApi.using(35) { api =>
        val query = new Query(api, size ++ Seq("pagination" -> kind, "onDrift" -> "restart"))
        def batches() = Iterator
          .continually {
            val start = query.at
            val rows = query.batch(ReadLimit.maxRows(10))
            val end = query.at
            query.restart()
            if (rows.nonEmpty) assert(query.read(end, from = query.stream.deserializeOffset(start.json)) == rows)
            rows
          }
          .takeWhile(_.nonEmpty)
          .toVector
        assert(batches().flatten == (0 until 35))
        api.count = 0
        assert(query.batch().isEmpty && query.batch().isEmpty)
        api.count = 25
        assert(batches().map(_.size) == Seq(10, 10, 5))
        assert(query.at.json.contains("\"crawl\":1"))
        assert(query.batch().isEmpty && query.stream.reportLatestOffset().json.contains("\"crawl\":1"))
        api.count = 7
        assert(batches() == Seq(0 until 7))
        assert(query.at.json.contains("\"crawl\":2") && query.at.json.contains("\"records\":7"))
      }
    }
  }

  test("AvailableNow reads a list that has become shorter once more, up to its end at the start, and ends") {
    totalled(30, "pagination" -> "offset", "onDrift" -> "restart") { query =>
      assert(query.batch() == (0 until 30))
      query.api.count = 25
      query.restart()
      query.stream.prepareForTriggerAvailableNow()
      assert(query.batch(ReadLimit.maxRows(10)) == (0 until 10))
      query.api.count = 40
      assert(query.batch(ReadLimit.maxRows(10)) == (10 until 20) && query.batch(ReadLimit.maxRows(10)) == (20 until 25))
      assert(query.batch().isEmpty)
    }
  }

  test("totals and onDrift require counted lists") {
    def refusal(options: (String, String)*): String =
      RestOptions
        .read((options :+ ("url" -> "http://127.0.0.1/c")).toMap)
        .fold(_.getMessage, good => fail(s"was taken: $good"))
    assert(refusal("totalCountHeader" -> "X").contains("Set pagination=offset or page"))
    assert(refusal("pagination" -> "link", "onDrift" -> "warn").contains("Set pagination=none or offset or page"))
    assert(refusal("pagination" -> "page", "onDrift" -> "perhaps").contains("one of fail, warn, restart"))
    assert(refusal("pagination" -> "page", "totalCount" -> "/t", "totalCountHeader" -> "X").contains("OPTION_CONFLICT"))
    assert(
      refusal("pagination" -> "page", "totalCount" -> "/data/0", "records" -> "/data").contains("into the records"))
    assert(refusal("pagination" -> "page", "totalCount" -> "/t", "bodyFormat" -> "ndjson").contains("totalCountHeader"))
    assert(refusal("pagination" -> "page", "journal" -> "true", "onDrift" -> "restart").contains("onDrift=restart"))
    val windows = Seq("windowStart" -> "2026-01-01T00:00:00Z", "windowLength" -> "1h", "windowPagination" -> "page")
    assert(
      refusal(windows ++ Seq("pagination" -> "time-window", "totalCountHeader" -> "X"): _*)
        .contains("totalCountHeader"))
  }
}
