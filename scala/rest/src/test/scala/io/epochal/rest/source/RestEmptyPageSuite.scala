package io.epochal.rest.source

import com.github.tomakehurst.wiremock.client.WireMock._
import org.scalatest.funsuite.AnyFunSuite

/** Pages without records, and what their responses say about the rest of the list. */
final class RestEmptyPageSuite extends AnyFunSuite with StubbedApi {

  private val three = """[{"id":0,"name":"a"},{"id":1,"name":"b"},{"id":2,"name":"c"}]"""
  private val rows = Seq("0 a", "1 b", "2 c")

  private def texts(options: (String, String)*): Seq[String] = readAll(stream(options: _*)).map(_.mkString(" "))

  /** Responses to requests with a parameter; later ones take precedence. */
  private def respondTo(param: String)(responses: (String, String)*): Unit = {
    server.stubFor(get(urlPathEqualTo("/c")).willReturn(okJson(responses.head._2))): Unit
    responses.tail.foreach { case (value, json) =>
      server.stubFor(get(urlPathEqualTo("/c")).withQueryParam(param, equalTo(value)).willReturn(okJson(json)))
    }
  }

  private val byPage = Seq("pagination" -> "page", "pageSize" -> "3", "records" -> "/records")
  private val since = Seq("sinceField" -> "/id", "sinceParam" -> "since", "sinceFormat" -> "raw", "keyColumns" -> "id")
  private val ofWindow = Seq(
    "pagination" -> "time-window",
    "windowPagination" -> "page",
    "windowStart" -> "2020-01-01T00:00:00Z",
    "windowLength" -> "2000d",
    "pageSize" -> "3",
    "records" -> "/records")

  for {
    (name, options) <- Seq(
      "page" -> byPage,
      "page with a journal" -> (byPage :+ ("journal" -> "true")),
      "page with sinceField" -> (byPage ++ since),
      "page of a window" -> ofWindow)
  } test(s"$name: a page without records does not end a list that has more according to the response") {
    val total = "\"page_count\":4"
    respondTo("page")("" -> s"""{"records":[],$total}""", "1" -> s"""{"records":$three,$total}""")
    val error = failure(texts(options: _*))
    assert(error.condition.name == "PAGINATION_MISMATCH" && error.getMessage.contains("0 records, and says at"), error)
    assert(texts(options :+ ("endOfList" -> "assumed"): _*) == rows)
  }

  test(
    "a number of pages that ends with the last record does not contradict the end, nor does one page of an empty list") {
    respondTo("page")("" -> """{"records":[],"total_pages":1}""", "1" -> s"""{"records":$three,"total_pages":1}""")
    assert(texts(byPage: _*) == rows)
    respondTo("page")("" -> """{"records":[],"last_page":1}""")
    assert(texts(byPage: _*).isEmpty)
    val byOffset = Seq("pagination" -> "offset", "pageSize" -> "2", "records" -> "/records")
    respondTo("_start")(
      "" -> """{"records":[],"total_pages":2}""",
      "0" -> """{"records":[{"id":0,"name":"a"},{"id":1,"name":"b"}],"total_pages":2}""",
      "2" -> """{"records":[{"id":2,"name":"c"}],"total_pages":2}"""
    )
    assert(texts(byOffset: _*) == rows)
  }

  test("a page without records may lack the total: of an empty list, and after the last record") {
    Seq("offset" -> "_start", "page" -> "page").foreach { case (kind, param) =>
      val options = Seq("pagination" -> kind, "pageSize" -> "3", "records" -> "/records", "totalCount" -> "/total")
      respondTo(param)("" -> """{"records":[]}""")
      assert(texts(options: _*).isEmpty)
      val first = if (kind == "page") "1" else "0"
      respondTo(param)("" -> """{"records":[]}""", first -> s"""{"records":$three,"total":3}""")
      assert(texts(options: _*) == rows)
      respondTo(param)("" -> """{"records":[]}""", first -> s"""{"records":$three}""")
      assert(failure(texts(options: _*)).getMessage.contains("does not say at '/total'"))
    }
  }

  test("null in place of records is no page without records if the response names a next page") {
    server.stubFor(get(urlPathEqualTo("/c")).willReturn(okJson("""{"data":null,"next":"b"}""")))
    server.stubFor(
      get(urlPathEqualTo("/c"))
        .withQueryParam("cursor", equalTo("b"))
        .willReturn(okJson(s"""{"data":$three,"next":null}""")))
    val byCursor = Seq("pagination" -> "cursor", "nextCursor" -> "/next", "records" -> "/data")
    val error = failure(texts(byCursor: _*))
    assert(
      error.condition.name == "RECORDS_NOT_FOUND" && error.getMessage.contains("at '/data': null, although"),
      error)
    assert(texts(byCursor :+ ("missingRecords" -> "empty"): _*) == rows)
    server.stubFor(get(urlPathEqualTo("/c")).willReturn(okJson("""{"data":null,"next":null}""")))
    assert(texts(byCursor: _*).isEmpty)
  }
}
