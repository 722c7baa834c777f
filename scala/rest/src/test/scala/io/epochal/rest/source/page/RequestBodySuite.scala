package io.epochal.rest.source.page

import com.github.tomakehurst.wiremock.WireMockServer
import com.github.tomakehurst.wiremock.client.WireMock._
import com.github.tomakehurst.wiremock.core.WireMockConfiguration.options
import org.apache.spark.sql.Row
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.source._

/** Pages requested by POST. */
final class RequestBodySuite extends QuerySuite {

  private val url = "url" -> "http://127.0.0.1/search"

  private def read(more: (String, String)*): RestOptions =
    RestOptions.read(Map(url) ++ more).fold(throw _, identity)

  private def refused(more: (String, String)*): EpochalException =
    RestOptions.read(Map(url) ++ more).fold(identity, good => fail(s"was taken: $good"))

  private def call(options: RestOptions, record: Long): (String, String, String) = {
    val call = options.requests.call(options.requests.pagination.request(record))
    (call.method, call.target, call.body.fold("")(body => new String(body.bytes)))
  }

  private val offsets = Seq("pagination" -> "offset", "pageSize" -> "10")
  private val pages = Seq("pagination" -> "page", "pageSize" -> "10", "firstPage" -> "0")

  test("placeholders in the body select the page, instead of the URL") {
    val byOffset = read(offsets :+ ("requestBody" -> """{"q":"$1","from":${offset},"size":${limit}}"""): _*)
    assert(call(byOffset, 25) == (("POST", "/search", """{"q":"$1","from":20,"size":10}""")))
    assert(byOffset.requests.pageUrl(byOffset.requests.pagination.request(25)) == "http://127.0.0.1/search")
    val byPage = read(pages :+ ("requestBody" -> "p=${page}&n=${pageSize}&again=${page}"): _*)
    assert(call(byPage, 25) == (("POST", "/search", "p=2&n=10&again=2")))
  }

  test("a body without placeholders is the same for every page, which the URL selects") {
    assert(call(read(offsets :+ ("requestBody" -> "{}"): _*), 25) == (("POST", "/search?_start=20&_limit=10", "{}")))
    assert(call(read("requestBody" -> "{}"), 0) == (("POST", "/search", "{}")))
    assert(call(read(), 0) == (("GET", "/search", "")))
  }

  test("placeholders that the pagination does not know, or that are missing, are refused") {
    Seq(
      (offsets, "${page}") -> "A body that selects the page has ${offset}, ${limit}.",
      (offsets, "${offset}") -> "requestBody without ${limit}",
      (pages, "${pageSize}") -> "requestBody without ${page}",
      (Nil, "${offset}") -> "Take it out"
    ).foreach { case ((kind, body), hint) =>
      val error = refused(kind :+ ("requestBody" -> body): _*)
      assert(error.condition.name == "OPTION_CONFLICT" && error.getMessage.contains(hint), error.getMessage)
    }
  }

  test("paging parameters besides a body that selects the page, and an invalid Content-Type, are refused") {
    val body = "requestBody" -> "${offset} ${limit}"
    assert(refused(offsets ++ Seq(body, "offsetParam" -> "from"): _*).getMessage.contains("Leave offsetParam out"))
    val error = refused(offsets ++ Seq(body, "headers.content-type" -> "text/plain; charset=nope"): _*)
    assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains("Content-Type"))
  }

  test("the body is shown nowhere, and is part of the identity") {
    val one = read("requestBody" -> """{"key":"s3cret"}""")
    assert(!one.toString.contains("s3cret") && !one.source.contains("s3cret"))
    assert(one.source != read("requestBody" -> "{}").source && one.source != read().source)
    assert(!refused("requestBody" -> "s3cret ${offset}").getMessage.contains("s3cret"))
  }

  test("a query reads pages by POST, retries, and sends one Content-Type", Slow) {
    val server = new WireMockServer(options().dynamicPort().bindAddress("127.0.0.1"))
    server.start()
    try {
      def response(body: String, json: String) =
        server.stubFor(post(urlEqualTo("/search")).withRequestBody(equalTo(body)).willReturn(okJson(json)))
      server.stubFor(post(urlEqualTo("/search")).willReturn(okJson("""{"hits":[]}""")))
      Seq("0:2" -> "01", "2:2" -> "2", "2:1" -> "2", "3:1" -> "", "4:1" -> "", "0:1" -> "0", "1:1" -> "1").foreach {
        case (at, ids) => response(s"[$at]", ids.map(id => s"""{"id":$id}""").mkString("""{"hits":[""", ",", "]}"))
      }
      val common = Map(
        "url" -> s"http://localhost:${server.port}/search",
        "pagination" -> "offset",
        "pageSize" -> "2",
        "records" -> "/hits",
        "requestBody" -> "[${offset}:${limit}]")
      Seq(common -> "application/json", common + ("headers.content-type" -> "text/plain") -> "text/plain").foreach {
        case (set, contentType) =>
          server.resetRequests()
          checkAnswer(
            spark.read.format("epochal-rest").schema("id INT").options(set).load(),
            Seq(Row(0), Row(1), Row(2)))
          server.getAllServeEvents.forEach { event =>
            val header = event.getRequest.header("Content-Type")
            assert(header.values().size == 1 && header.firstValue().startsWith(contentType))
          }
      }
    } finally server.stop()
  }
}
