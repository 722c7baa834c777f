package io.epochal.rest.source

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import com.github.tomakehurst.wiremock.WireMockServer
import com.github.tomakehurst.wiremock.client.ResponseDefinitionBuilder
import com.github.tomakehurst.wiremock.client.WireMock._
import com.github.tomakehurst.wiremock.core.WireMockConfiguration.options
import com.github.tomakehurst.wiremock.extension.ResponseDefinitionTransformerV2
import com.github.tomakehurst.wiremock.http.{Request, ResponseDefinition}
import com.github.tomakehurst.wiremock.stubbing.ServeEvent

/** An API with `count` records `{"id":0,"name":"record 0"}`, … at `/data`, in pages of 4 by every kind of pagination,
  * that tags its responses and replies 304 to a matching condition.
  */
final class TaggedApi extends ResponseDefinitionTransformerV2 with AutoCloseable {
  @volatile var count: Int = 0

  /** Lengths of further lists at `/records/<name>`, whose records are named after the list. */
  val counts: scala.collection.concurrent.Map[String, Int] = scala.collection.concurrent.TrieMap.empty

  /** Whether every page names another one. */
  @volatile var endless: Boolean = false

  /** Called at every request, before its response; a status other than 200 becomes the response. */
  @volatile var before: Request => Int = _ => 200

  /** The validators of a body. */
  @volatile var tags: String => Seq[(String, String)] = body => Seq("ETag" -> s"\"${body.hashCode}\"")

  /** Whether a request with this header gets 304 for a body. */
  @volatile var same: (Request, String) => Boolean = (request, body) =>
    tags(body).exists { case (name, value) => name == "ETag" && request.getHeader("If-None-Match") == value }

  /** Whether a response of 304 has the header Link. */
  @volatile var linksIn304: Boolean = true

  override def getName: String = "tagged"
  override def applyGlobally(): Boolean = true

  private val server = new WireMockServer(options().dynamicPort().bindAddress("127.0.0.1").extensions(this))
  server.start()
  server.stubFor(any(anyUrl()).willReturn(ok()))

  def url: String = s"http://localhost:${server.port}/records"

  /** The requests since the last call. */
  def requests(): Seq[Request] = {
    val received = server.getAllServeEvents.asScala.toSeq.reverse.map(event => event.getRequest: Request)
    server.resetRequests()
    received
  }

  override def transform(event: ServeEvent): ResponseDefinition = {
    val status = before(event.getRequest)
    if (status == 200) response(event.getRequest) else aResponse().withStatus(status).build()
  }

  private def response(request: Request): ResponseDefinition = {
    val path = request.getUrl.takeWhile(_ != '?')
    val list = URLDecoder.decode(path.drop("/records".length).stripPrefix("/"), UTF_8)
    val count = if (list.isEmpty) this.count else counts.getOrElse(list, 0)
    val record = if (list.isEmpty) "record" else list
    def number(name: String): Option[Int] =
      Option(request.queryParameter(name)).filter(_.isPresent).map(_.firstValue.toInt)
    val size = number("_limit").orElse(number("per_page")).getOrElse(TaggedApi.PageSize)
    val from = number("_start")
      .orElse(number("page").map(page => (page - 1) * size))
      .orElse(number("cursor"))
      .orElse(number("after").map(_ + 1))
      .getOrElse(0)
    val until = if (request.getUrl.contains("all")) count else math.min(count, from + size)
    val next = if (endless) Some(from + size) else Option.when(until < count)(until)
    val records = (from until until).map(i => s"""{"id":$i,"name":"$record $i"}""").mkString("[", ",", "]")
    val link = next.map(n => s"http://localhost:${server.port}$path?cursor=$n")
    val around =
      if (request.getUrl.contains("bare")) ""
      else s""","next":${next.getOrElse("null")},"url":${link.fold("null")(u => s"\"$u\"")}"""
    val body = s"""{"data":$records$around}"""
    val unchanged = same(request, body)
    val headers = tags(body) ++ link.filter(_ => linksIn304 || !unchanged).map(u => "Link" -> s"""<$u>; rel="next"""")
    val response = if (unchanged) new ResponseDefinitionBuilder().withStatus(304) else okJson(body)
    headers.foldLeft(response) { case (built, (name, value)) => built.withHeader(name, value) }.build()
  }

  override def close(): Unit = server.stop()
}

object TaggedApi {
  val PageSize = 4

  val kinds: Map[String, Seq[(String, String)]] = Map(
    "none" -> Seq("params.list" -> "all"),
    "offset" -> Seq("pagination" -> "offset", "pageSize" -> "4"),
    "page" -> Seq("pagination" -> "page", "pageSize" -> "4"),
    "cursor" -> Seq("pagination" -> "cursor", "nextCursor" -> "/next"),
    "keyset" -> Seq("pagination" -> "keyset", "keyField" -> "/id", "cursorParam" -> "after"),
    "link" -> Seq("pagination" -> "link", "params.list" -> "bare", "endOfList" -> "assumed"),
    "next-url" -> Seq("pagination" -> "next-url", "nextUrl" -> "/url")
  ).map { case (kind, options) => kind -> (options :+ ("records" -> "/data")) }

  def using[A](records: Int)(body: TaggedApi => A): A = {
    val api = new TaggedApi
    api.count = records
    try body(api)
    finally api.close()
  }
}
