package io.epochal.rest.source

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.support.SlowTests.slowIf
import io.epochal.testkit.MicroBatch

/** Servers with an error in place of a page past the end, and servers with only whole pages. */
final class RestPastEndSuite extends AnyFunSuite with CountedFixture {

  private val total = Seq("totalCount" -> "/count", "records" -> "/results")

  for {
    status <- Seq(400, 404, 416)
    kind <- Seq("page", "offset")
    (name, options) <- Seq("a total" -> total, "no total" -> Nil, "a journal" -> Seq("journal" -> "true"))
  } test(
    s"$kind with $name: a list that ends with a full page is read on, where the page behind it is $status",
    slowIf(status != 404): _*) {
    query(0, options :+ ("pagination" -> kind): _*) { query =>
      if (options == total) query.api.body = array => s"""{"count":${query.api.count},"next":null,"results":$array}"""
      query.api.behind = Some(status)
      val delivered = Seq(0, 10, 20, 20, 27, 30, 30, 57, 60).map { count =>
        query.api.count = count
        val ids = query.batch()
        query.restart()
        ids
      }
      assert(delivered.flatten == (0 until 60) && query.batch().isEmpty)
    }
  }

  Seq("page", "offset").foreach { kind =>
    test(s"$kind: a missing first page is an error, and never an empty list") {
      Seq(Nil, total, Seq("journal" -> "true")).foreach { options =>
        query(30, options :+ ("pagination" -> kind): _*) { query =>
          query.api.status = 404
          val error = failure(query.batch())
          assert(error.condition.name == "HTTP_STATUS" && error.getMessage.contains("404"))
        }
      }
    }

    test(s"$kind: delivered pages that are missing now are data loss, and not the end") {
      Seq(Nil, total).foreach { options =>
        query(60, options :+ ("pagination" -> kind): _*) { query =>
          query.api.behind = Some(404)
          if (options == total) query.api.body = array => s"""{"count":${query.api.count},"results":$array}"""
          assert(query.batch() == (0 until 60))
          query.api.count = 25
          val error = failure { query.batch(); query.batch() }
          assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("from offset 25 to 60"), error)
        }
      }
    }

    test(s"$kind: a missing page of a planned batch is data loss") {
      query(60, "pagination" -> kind) { query =>
        query.api.behind = Some(404)
        val end = MicroBatch.next(query.stream, query.at, ReadLimit.allAvailable()).get
        query.api.count = 20
        val error = failure(MicroBatch.read(query.stream, schema, query.at, end))
        assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("record 20"), error)
      }
    }

    test(s"$kind: a page of a planned batch that is missing once is requested again, and loses no record") {
      val mild = Seq("pagination" -> kind, "failOnDataLoss" -> "false", "retry.initialDelay" -> "1ms")
      Seq(Nil, Seq("ignoreStatuses" -> "404")).foreach { ignored =>
        query(60, mild ++ ignored: _*) { query =>
          val end = MicroBatch.next(query.stream, query.at, ReadLimit.allAvailable()).get
          query.api.once.put(20, 404)
          assert(query.read(end) == (0 until 60) && query.api.once.isEmpty)
        }
      }
      query(60, mild ++ total :+ ("journal" -> "true"): _*) { query =>
        query.api.body = array => s"""{"count":${query.api.count},"results":$array}"""
        query.api.once.put(20, 400)
        assert(query.batch() == (0 until 60) && query.api.once.isEmpty)
      }
    }

    test(s"$kind: with a single attempt, a missing page is the end at once") {
      val once = Seq("failOnDataLoss" -> "false", "retry.maxAttempts" -> "1")
      query(60, once :+ ("pagination" -> kind): _*) { query =>
        query.api.behind = Some(404)
        val end = MicroBatch.next(query.stream, query.at, ReadLimit.allAvailable()).get
        query.api.count = 20
        assert(query.read(end) == (0 until 20))
      }
    }
  }

  test("a status in retry.statuses is not the end") {
    query(10, "pagination" -> "page", "retry.statuses" -> "404", "retry.maxAttempts" -> "2") { query =>
      query.api.behind = Some(404)
      assert(failure(query.batch()).condition.name == "HTTP_STATUS")
    }
  }

  test(
    "by offset every request is for a whole page from a multiple of its size on, and a batch costs at most one extra page") {
    query(95, "pagination" -> "offset") { query =>
      query.api.strict = true
      val limit = ReadLimit.maxRows(7)
      val ids = Iterator.continually(query.batch(limit)).takeWhile(_.nonEmpty).flatten.toVector
      assert(ids == (0 until 95))
      val requests = query.api.requests()
      assert(requests.forall(_.endsWith("&_limit=10")), requests.distinct)
      assert(requests.count(!_.matches("_start=\\d*0&_limit=10")) <= 1, requests.distinct)
    }
  }

  test("an offset within a page, as older releases logged it, is resumed from the page that contains it") {
    query(42, "pagination" -> "offset") { query =>
      query.at = query.stream.deserializeOffset(
        RestOffset.toJson(RestStreams.sourceOf(query.stream.initialOffset()), RestPosition.Planned(17)))
      assert(query.batch() == (17 until 42))
      assert(query.api.requests().forall(_.endsWith("&_limit=10")))
    }
  }
}
