package io.epochal.rest.source

import java.time.Instant
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.kit.record.RecordReading
import io.epochal.rest.http.HttpCounters
import io.epochal.rest.source.window.{WindowApi, WindowFixture}

/** Lists whose last page names another one: itself, or one page without records after the other. */
final class RestStopSuite extends AnyFunSuite with ChainFixture {

  /** The ids of a batch read. */
  private def read(api: ChainApi, kind: String, options: (String, String)*): Seq[Int] = {
    val all = ChainApi.kinds(kind) ++ options :+ ("url" -> api.url)
    val read = RestOptions.read(all.toMap).fold(throw _, identity)
    val factory = new RestReaderFactory(read.requests, RecordReading(schema, "UTC"), new HttpCounters, None)
    val reader = factory.createReader(ChainPartition(Instant.now()))
    try Iterator.continually(reader).takeWhile(_.next()).map(_.get().getInt(0)).toVector
    finally reader.close()
  }

  ChainApi.kinds.keys.filterNot(_ == "keyset").foreach { kind =>
    test(s"$kind: with endOfList=repeated a page with records that names itself is the last one, and may grow") {
      query(10, kind, "endOfList" -> "repeated") { query =>
        def last(page: Long): Unit = query.api.after = from => Some(s"c${math.min(from + 4, page)}")
        last(8)
        assert(read(query.api, kind, "endOfList" -> "repeated") == (0 until 10))
        assert(query.batch() == (0 until 10) && query.batch().isEmpty)
        query.restart()
        query.api.count = 11
        assert(query.batch() == Seq(10) && query.batch().isEmpty)
        query.api.count = 14
        last(12)
        assert(query.batch() == Seq(11, 12, 13) && query.batch().isEmpty)
        val error = failure(read(query.api, kind, "endOfList" -> "proven"))
        assert(error.condition.name == "PAGINATION_LOOP" && error.getMessage.contains("endOfList=repeated"), error)
      }
    }

    test(s"$kind: with endOfList=repeated an API that ignores the page is still an error") {
      query(10, kind, "endOfList" -> "repeated") { query =>
        query.api.position = _ => 0
        assert(failure(query.batch()).condition.name == "PAGINATION_LOOP")
        assert(failure(read(query.api, kind, "endOfList" -> "repeated")).condition.name == "PAGINATION_LOOP")
      }
    }

    test(s"$kind: with emptyPages=end a page without records that names another one is the last one, and may grow") {
      query(12, kind, "emptyPages" -> "end", "hasMore" -> "/meta/more") { query =>
        query.api.after = from => Some(s"c${from + 4}")
        assert(read(query.api, kind, "emptyPages" -> "end") == (0 until 12) && query.api.requests().size == 4)
        assert(query.batch() == (0 until 12) && query.batch().isEmpty)
        query.restart()
        query.api.requests()
        assert(query.batch().isEmpty && query.api.requests() == Seq("c12"))
        query.api.count = 20
        assert(query.batch() == (12 until 20))
      }
    }
  }

  test("a batch read fails after a thousand pages without records, by an error that names both ways on", Slow) {
    ChainApi.using(4) { api =>
      api.after = from => Some(s"c${from + 4}")
      val error = failure(read(api, "cursor"))
      assert(error.condition.name == "TOO_MANY_EMPTY_PAGES" && api.requests().size == 1002, error)
      assert(error.getMessage.contains("emptyPages=end") && error.getMessage.contains("emptyPages=skip"))
      assert(
        failure(read(api, "cursor", "emptyPages" -> "skip", "maxPages" -> "1100")).condition.name == "TOO_MANY_PAGES")
      api.requests()
      api.page = from => if (from % 2800 == 0) Seq(from / 2800) else Nil
      api.after = from => Option.when(from < 11200)(s"c${from + 4}")
      assert(read(api, "cursor") == (0 to 4))
    }
  }

  test("AvailableNow with emptyPages=skip skips all pages without records in one run", Slow) {
    query(0, "cursor", "emptyPages" -> "skip") { query =>
      query.api.after = from => Option.when(from < 1500 * 4)(s"c${from + 4}")
      query.api.page = from => if (from == 1400 * 4) Seq(7L) else Nil
      query.stream.prepareForTriggerAvailableNow()
      assert(Iterator.continually(query.batch()).take(20).flatten.toSeq == Seq(7))
    }
  }

  test("endOfList=repeated and emptyPages are refused where no page names a next one") {
    Seq(
      Seq("endOfList" -> "repeated"),
      Seq("pagination" -> "keyset", "keyField" -> "/id", "emptyPages" -> "end"),
      Seq("pagination" -> "offset", "emptyPages" -> "skip"),
      Seq("pagination" -> "keyset", "keyField" -> "/id", "endOfList" -> "repeated")
    ).foreach { options =>
      val error = failure(RestOptions.read(Map("url" -> "http://127.0.0.1/c") ++ options).fold(throw _, identity))
      assert(error.condition.name == "OPTION_CONFLICT", error)
    }
  }
}

/** The same within time windows. */
final class RestStopWindowsSuite extends AnyFunSuite with WindowFixture {

  private def events(query: Query): Unit = {
    (0 until 40).foreach(id => query.event(id, id.toLong))
    query.api.pageSize = 4
    query.nowAt(41)
  }

  private val pages = Seq("params.paged" -> "1")

  test("windowPagination=cursor: with emptyPages=end a page without records ends the window") {
    query("cursor", pages :+ ("emptyPages" -> "end"): _*) { query =>
      val next = new AtomicInteger
      events(query)
      query.api.body = (page, _) => {
        val records = page.map(event => s"""{"id":${event.id},"name":"e"}""").mkString("[", ",", "]")
        val follows = page.lastOption.fold(s"c${1000 + next.incrementAndGet()}")(last => s"c${last.id % 10 + 1}")
        s"""{"next":"$follows","data":$records}"""
      }
      assert(query.batch() == (0 until 40))
      query.restart("emptyPages" -> "skip", "maxPages" -> "20", "windowStart" -> s"${WindowApi.start}")
      query.nowAt(51)
      assert(failure(query.batch()).condition.name == "TOO_MANY_PAGES")
    }
  }

  test("windowPagination=cursor: a window with a thousand pages without records is an error", Slow) {
    query("cursor", pages :+ ("maxPages" -> "1100"): _*) { query =>
      val next = new AtomicInteger
      query.api.body = (_, _) => s"""{"next":"c${next.incrementAndGet()}","data":[]}"""
      query.nowAt(11)
      val error = failure(query.batch())
      assert(error.condition.name == "TOO_MANY_EMPTY_PAGES" && query.api.requests().size == 1001, error)
    }
  }

  test("windowPagination=cursor: with endOfList=repeated a page that names itself ends the window") {
    query("cursor", pages :+ ("endOfList" -> "repeated"): _*) { query =>
      events(query)
      query.api.body = (page, _) => {
        val records = page.map(event => s"""{"id":${event.id},"name":"e"}""").mkString("[", ",", "]")
        s"""{"next":"c${math.min(8, page.head.id % 10 + 4)}","data":$records}"""
      }
      assert(query.batch() == (0 until 40))
    }
  }
}
