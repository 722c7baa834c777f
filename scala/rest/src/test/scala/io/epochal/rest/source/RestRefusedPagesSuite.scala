package io.epochal.rest.source

import scala.util.Using

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.rest.http.HttpCounters
import io.epochal.rest.source.window.{Event, WindowApi, WindowFixture}
import io.epochal.support.SlowTests.slowIf

/** Servers that refuse pages which exist, and are not taken for servers whose list ends there. */
final class RestRefusedPagesSuite extends AnyFunSuite with CountedFixture {

  private def refused(error: EpochalException, status: Int = 400): Unit = {
    assert(error.condition.name == "PAGE_REFUSED" && error.values("status") == s"$status", error)
    assert(error.getMessage.contains(s"ignoreStatuses=$status") && !error.getMessage.contains("hunter2"), error)
  }

  private def batchEnd(api: RecordsApi, options: (String, String)*): Long = {
    val read = RestOptions.read(Map("url" -> api.url, "pageSize" -> "10") ++ options).fold(throw _, identity)
    Using.resource(new RestFrontier(read, new HttpCounters))(_.exists(0, Long.MaxValue))
  }

  for {
    kind <- Seq("offset", "page")
    journal <- Seq("false", "true")
    size <- Seq(1, 2, 10)
  } {
    val options = Seq("pagination" -> kind, "journal" -> journal, "pageSize" -> s"$size", "params.key" -> "hunter2-key")

    test(
      s"$kind, pageSize=$size, journal=$journal: records that the server refuses to page to are an error",
      slowIf(size != 2): _*) {
      query(95, options: _*) { query =>
        query.api.reach = 50
        refused(failure(query.batch()))
      }
      query(95, options: _*) { query =>
        query.api.reach = 50
        val limit = ReadLimit.maxRows(20)
        assert((1 to 2).flatMap(_ => query.batch(limit)) == (0 until 40))
        val error = failure(query.batch(limit))
        refused(error)
        assert(error.getMessage.contains("limit + offset is too large") && error.getMessage.contains("record 50 on"))
        query.restart()
        refused(failure(query.batch(limit)))
        query.restart("ignoreStatuses" -> "400")
        assert(query.batch(limit) == (40 until 50) && query.batch(limit).isEmpty)
      }
    }
  }

  Seq("offset", "page").foreach { kind =>
    val paged = "pagination" -> kind

    test(s"$kind: a batch read of a list that the server refuses to page through is an error") {
      RecordsApi.using(95) { api =>
        api.reach = 50
        refused(failure(batchEnd(api, paged, "params.key" -> "hunter2-key")))
        assert(batchEnd(api, paged, "ignoreStatuses" -> "400") == 50)
        api.reach = 1000
        api.behind = Some(404)
        Seq(10, 50, 57, 90).foreach { count =>
          api.count = count
          assert(batchEnd(api, paged) == count)
        }
      }
    }

    test(s"$kind: with a total, the error shows the status and the body of the refused page") {
      RecordsApi.using(95) { api =>
        api.reach = 50
        api.body = array => s"""{"count":95,"results":$array}"""
        val total = Seq(paged, "totalCount" -> "/count", "records" -> "/results", "params.key" -> "hunter2-key")
        val error = failure(batchEnd(api, total: _*))
        assert(error.condition.name == "PAGINATION_MISMATCH" && !error.getMessage.contains("hunter2"), error)
        assert(
          error.getMessage.contains("it returned status 400 ({\"error\":\"limit + offset is too large\"") &&
            error.getMessage.contains("and says that there are 95 records in all"),
          error)
      }
    }

    test(s"$kind: a total is an error if the server refuses its last full pages") {
      RecordsApi.using(50) { api =>
        api.behind = Some(404)
        api.body = array => s"""{"count":100,"results":$array}"""
        val total = Seq(paged, "totalCount" -> "/count", "records" -> "/results", "retry.initialDelay" -> "1ms")
        val error = failure(batchEnd(api, total: _*))
        assert(error.condition.name == "PAGINATION_MISMATCH", error)
        assert(error.getMessage.contains("status 404, and says that there are 100 records in all"), error)
      }
    }

    test(s"$kind: a total that is capped where the API refuses to page on is an error, in streams and batches") {
      val total = Seq(paged, "totalCount" -> "/count", "records" -> "/results", "params.key" -> "hunter2-key")
      query(95, total: _*) { query =>
        query.api.reach = 50
        query.api.body = array => s"""{"count":50,"results":$array}"""
        refused(failure(batchEnd(query.api, total: _*)))
        refused(failure(query.batch()))
        assert(batchEnd(query.api, total :+ ("ignoreStatuses" -> "400"): _*) == 50)
        query.api.body = array => s"""{"count":55,"results":$array}"""
        val error = failure(query.batch())
        assert(error.condition.name == "PAGINATION_MISMATCH" && error.getMessage.contains("returned status 400"), error)
      }
      RecordsApi.using(50) { api =>
        api.body = array => s"""{"count":50,"results":$array}"""
        Seq(400, 404, 422).foreach { status =>
          api.behind = Some(status)
          assert(batchEnd(api, total: _*) == 50, status)
        }
      }
    }

    test(s"$kind: a page of a planned batch that is refused is data loss, which shows the status and the body") {
      query(60, paged, "retry.initialDelay" -> "1ms") { query =>
        val end = query.stream.latestOffset(query.at, ReadLimit.allAvailable())
        query.api.reach = 30
        val error = failure(query.read(end))
        assert(error.condition.name == "DATA_LOSS", error)
        assert(error.getMessage.contains("before record 30: its page was refused with status 400 ({"), error)
      }
    }
  }

  test("offset: the end is proven to servers that refuse or round a start within a page, too") {
    Seq[RecordsApi => Unit](_.strict = true, _.rounds = true).foreach { set =>
      query(30, "pagination" -> "offset") { query =>
        set(query.api)
        query.api.behind = Some(404)
        assert(query.batch() == (0 until 30) && query.batch().isEmpty)
        query.api.count = 40
        assert(query.batch() == (30 until 40))
      }
    }
  }

  test("a server with one page size: the end after a full page is proven by the length that a response has") {
    query(30, "pagination" -> "page", "records" -> "/results") { query =>
      query.api.fixed = Some(10)
      query.api.behind = Some(404)
      query.api.body = array => s"""{"count":${query.api.count},"results":$array}"""
      assert(query.batch() == (0 until 30) && query.batch().isEmpty)
      query.restart()
      assert(query.batch().isEmpty)
      query.api.count = 40
      assert(query.batch() == (30 until 40))
    }
  }

  test("a server with one page size: the length of a list of one full page counts where no page follows") {
    Seq("\"next\":null," -> true, "" -> false).foreach { case (next, ends) =>
      query(10, "pagination" -> "page", "records" -> "/results") { query =>
        query.api.fixed = Some(10)
        query.api.behind = Some(404)
        query.api.body = array => s"""{"count":${query.api.count},$next"results":$array}"""
        if (ends) {
          assert(query.batch() == (0 until 10) && query.batch().isEmpty)
          query.api.count = 20
          assert(query.batch() == (10 until 20))
        } else refused(failure(query.batch()), 404)
      }
    }
  }

  test("a page of another size, which a server with one size ignores, is not compared with delivered records") {
    query(3, "pagination" -> "page", "pageSize" -> "1") { query =>
      query.api.fixed = Some(1)
      query.api.behind = Some(404)
      assert(query.batch() == (0 until 3) && query.batch().isEmpty)
      query.restart()
      assert(query.batch().isEmpty)
    }
  }

  test("a server with one page size: without a length, or with a 400, a refused page after a full one is an error") {
    Seq(404 -> "\"total\":9", 400 -> "\"total\":30").foreach { case (status, total) =>
      query(30, "pagination" -> "page", "records" -> "/results") { query =>
        query.api.fixed = Some(10)
        query.api.behind = Some(status)
        query.api.body = array => s"""{"results":$array,$total}"""
        refused(failure(query.batch()), status)
        query.restart("ignoreStatuses" -> s"$status")
        assert(query.batch() == (0 until 30))
      }
    }
  }

  test("a body that selects the page has the check's page number and size") {
    val api = new PageCall(Some(new BodyTemplate("""{"p":${page},"n":${pageSize}}""")), PageCall.JsonType)
    val endpoint = io.epochal.rest.http.Endpoint.of("http://127.0.0.1/c", Nil, Nil).toOption.get
    val pages = Pagination.ByPage("page", "size", 1, 10)
    val (check, first) = pages.endCheck(90).get
    val body = api.of(endpoint, pages, check.continueAt(first)).body.get
    assert(new String(body.bytes, java.nio.charset.StandardCharsets.UTF_8) == """{"p":12,"n":8}""")
  }
}

/** Refused pages of time windows. */
final class RestRefusedWindowsSuite extends AnyFunSuite with WindowFixture {

  /** Refuses pages past the end of a window, and those that begin at `reach` or later. */
  private def refuses(query: Query, reach: Int = Int.MaxValue): Unit =
    query.api.refuses = (place, size) => Option.when(place > 0 && (place >= size || place >= reach))(404)

  for {
    kind <- Seq("offset", "page")
    limit <- Seq(1L, 2L, 3L, 100L)
  } test(
    s"windowPagination=$kind: a refused page after the last one of a window ends it, $limit rows at a time",
    slowIf(limit != 2): _*) {
    query(kind) { query =>
      refuses(query)
      (0 until 21).foreach(id =>
        query.event(id, if (id < 6) 1 else if (id < 10) 12 else 23)) // 6, 4, and 11 per window.
      query.nowAt(41)
      val rows = Iterator
        .continually {
          val ids = query.batch(ReadLimit.maxRows(limit))
          query.restart()
          ids
        }
        .takeWhile(_.nonEmpty)
        .flatten
        .toVector
      assert(rows == (0 until 21))
    }
  }

  Seq("offset", "page").foreach { kind =>
    test(
      s"windowPagination=$kind: a refused page of a window that has more records is an error, in streams and batches") {
      query(kind) { query =>
        refuses(query, reach = 6)
        (0 until 10).foreach(id => query.event(id, 1))
        query.nowAt(41)
        val error = failure(query.batch())
        assert(error.condition.name == "PAGE_REFUSED" && error.values("status") == "404", error)
        assert(failure(query.batch()).condition.name == "PAGE_REFUSED")
        query.restart("ignoreStatuses" -> "404")
        assert(query.batch() == (0 until 6))
      }
      query(kind) { query =>
        query.api.refuses = (place, _) => if (place == 4) Some(422) else Option.when(place >= 6)(404)
        (0 until 6).foreach(id => query.event(id, 1))
        query.nowAt(41)
        val error = failure(query.batch())
        assert(error.condition.name == "PAGE_REFUSED" && error.values("status") == "404", error)
      }
      WindowApi.using { api =>
        api.refuses = (place, _) => Option.when(place >= 6)(404)
        api.events = (0 until 10).map(id => Event(id, minutes(1))).toVector
        val error = failure(batchRead(api, kind, minutes(35)))
        assert(error.condition.name == "PAGE_REFUSED")
      }
    }
  }
}
