package io.epochal.rest.source

import java.nio.file.Files

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.testkit.MicroBatch

/** Evidence for the end of a list. */
final class RestListEndSuite extends AnyFunSuite with ChainFixture {

  private def refused(query: Query): EpochalException = {
    val error = failure(query.batch())
    assert(error.condition.name == "CONTINUATION_MISSING", error)
    error
  }

  private val misspelt = Seq(
    ("next-url", Seq("nextUrl" -> "/meta/urll"), "'/meta/urll'", "nextUrl"),
    ("link", Seq("linkRel" -> "nextt"), "the header Link with rel=nextt", "linkRel")
  )

  misspelt.foreach { case (kind, options, place, option) =>
    test(
      s"$kind: a first page without the next one's name is not the end: the error lists the fields and headers found") {
      query(30, kind, options :+ ("endOfList" -> "proven"): _*) { query =>
        val error = refused(query)
        assert(error.getMessage.contains(s"nothing at $place"))
        assert(error.getMessage.contains("/meta/next, /meta/url") && error.getMessage.contains("Link"))
        assert(error.getMessage.contains(s"Set '$option'") && error.getMessage.contains("endOfList=assumed"))
        query.restart("endOfList" -> "assumed")
        assert(query.batch() == (0 until 4) && query.batch().isEmpty)
      }
    }
  }

  test("a list without records has ended, even without any other evidence") {
    query(0, "cursor", "nextCursor" -> "/nextt") { query =>
      assert(query.batch().isEmpty && query.batch().isEmpty)
      query.api.count = 3
      refused(query)
    }
  }

  test("a pointer that one page had may be absent from the last one, also after a restart") {
    query(10, "cursor") { query =>
      query.api.body = (records, meta) => {
        val named = if (meta.contains("\"next\":null")) "{}" else meta
        s"""{"data":${records.mkString("[", ",", "]")},"meta":$named}"""
      }
      assert(query.batch(ReadLimit.maxRows(4)) == (0 until 4))
      query.restart()
      assert(query.batch() == (4 until 10))
      query.restart()
      query.api.count = 11
      assert(query.batch() == Seq(10))
      assert(new Query(query.api, ChainApi.kinds("cursor"): _*).batch() == (0 until 11))
    }
  }

  private def whole(api: RecordsApi, options: (String, String)*): Option[Offset] = {
    val stream = RestStreams.over(api.url, Files.createTempDirectory("rest").resolve("0"), schema, options: _*)
    MicroBatch.next(stream, stream.initialOffset(), ReadLimit.allAvailable())
  }

  test("none: a response that announces more pages is not taken for the whole list") {
    val data = "records" -> "/data"
    def wrapped(more: String): String => String = array => s"""{"data":$array,$more}"""
    Seq(
      ("\"next\":\"http://x/?page=2\"", "names a next page at '/next'", "next-url"),
      ("\"meta\":{\"next_cursor\":\"abc\"}", "names a next page at '/meta/next_cursor'", "cursor"),
      ("\"_links\":{\"next\":{\"href\":\"/c?page=2\"}}", "at '/_links/next/href'", "next-url"),
      ("\"has_more\":true", "its flag at '/has_more'", "cursor"),
      ("\"has_more\":1", "its flag at '/has_more'", "cursor"),
      ("\"meta\":{\"total\":2537}", "according to '/meta/total' the list has 2537", "page")
    ).foreach { case (more, reason, suggestion) =>
      RecordsApi.using(3) { api =>
        api.body = wrapped(more)
        val error = failure(whole(api, data))
        assert(error.condition.name == "LIST_INCOMPLETE" && error.getMessage.contains(reason), error)
        assert(error.getMessage.contains(s"pagination=$suggestion"))
        assert(whole(api, data, "endOfList" -> "assumed").nonEmpty)
      }
    }
    Seq("\"next\":null,\"total\":3", "\"has_more\":false,\"next\":\"\"", "\"totals\":99").foreach { more =>
      RecordsApi.using(3) { api =>
        api.body = wrapped(more)
        assert(whole(api, data).nonEmpty, more)
      }
    }
    RecordsApi.using(3) { api =>
      api.headers = Seq("Link" -> "<u>; rel=\"next\"")
      assert(failure(whole(api)).getMessage.contains("its header Link names a next page"))
    }
    RecordsApi.using(3) { api =>
      api.headers = Seq("X-Total-Count" -> "10")
      assert(failure(whole(api)).getMessage.contains("according to the header X-Total-Count the list has 10"))
    }
  }
}
