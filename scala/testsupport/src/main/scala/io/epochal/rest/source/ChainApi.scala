package io.epochal.rest.source

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentLinkedQueue

import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** An API with `count` records `{"id":0,"name":"record 0"}`, … in pages that each name the next one: by a cursor in the body
  * (`/meta/next`) and in a header (`X-Next`), by a `Link` header, and by a URL in the body (`/meta/url`). The cursor is read from the
  * parameter `cursor`, the header `X-Cursor`, or the body of a POST; one that is a number alone is the id of the record before the page.
  */
final class ChainApi extends StubServer("/records") {
  @volatile var count: Int = 0
  @volatile var pageSize: Int = 4

  /** The cursor of the page from a record on, and the other way round. */
  @volatile var cursor: Long => String = from => s"c$from"
  @volatile var position: String => Long =
    token => if (token.startsWith("c")) token.drop(1).toLong else token.toLong + 1

  /** The cursor after the page that begins at a record; None where it is the last. */
  @volatile var after: Long => Option[String] =
    from => Option.when(from + pageSize < count)(cursor(from + pageSize))

  /** The records of the page that begins at a record. */
  @volatile var page: Long => Seq[Long] = from => from until math.min(count.toLong, from + pageSize)

  /** What record `i` looks like. */
  @volatile var record: Long => String = i => s"""{"id":$i,"name":"record $i"}"""

  /** What records and the values around them stand in. */
  @volatile var body: (Seq[String], String) => String = (records, meta) =>
    s"""{"data":${records.mkString("[", " , ", "]")},"meta":$meta}"""

  /** The flag `/meta/more`, as JSON; nothing for none. */
  @volatile var more: Long => String = from => s"${after(from).nonEmpty}"

  /** The address of a page. */
  @volatile var address: String => String = query => s"$url?$query"

  /** Called at every request, before it gets its response; a status other than 200 is the response at once. */
  @volatile var before: () => Int = () => 200

  private val asked = new ConcurrentLinkedQueue[String]

  /** The cursors of all requests since the last call, "" for none; of an id that of the page. */
  def requests(): Seq[String] = Iterator.continually(asked.poll()).takeWhile(_ != null).toSeq

  override protected def serve(exchange: HttpExchange): Unit = {
    val query = Option(exchange.getRequestURI.getRawQuery).toSeq.flatMap(_.split('&')).filter(_.contains('='))
    val params = query.map { pair =>
      val Array(name, value) = pair.split("=", 2)
      name -> URLDecoder.decode(value, UTF_8)
    }.toMap
    val request = new String(exchange.getRequestBody.readAllBytes(), UTF_8)
    val token = params
      .get("cursor")
      .orElse(Option(exchange.getRequestHeaders.getFirst("X-Cursor")))
      .orElse(ChainApi.InBody.findFirstMatchIn(request).map(_.group(1)))
    asked.add(token.fold("")(text => if (text.forall(_.isDigit)) cursor(position(text)) else text))
    val status = before()
    if (status != 200) exchange.sendResponseHeaders(status, -1)
    else {
      val from = token.fold(0L)(position)
      val next = after(from)
      val others = query.filterNot(_.startsWith("cursor="))
      val link = next.map(text => address((others :+ s"cursor=$text").mkString("&")))
      val flag = Option(more(from)).filter(_.nonEmpty).map(value => s""","more":$value""").getOrElse("")
      val meta =
        s"""{"next":${next.fold("null")(text => s"\"$text\"")},"url":${link.fold("null")(u => s"\"$u\"")}$flag}"""
      next.foreach(exchange.getResponseHeaders.add("X-Next", _))
      exchange.getResponseHeaders.add("Link", s"""<$url>; rel="first"""")
      link.foreach(u => exchange.getResponseHeaders.add("Link", s"""<$u>; rel="next"; title="a, \\"b\\""; x"""))
      val bytes = body(page(from).map(record), meta).getBytes(UTF_8)
      exchange.sendResponseHeaders(200, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
    }
  }
}

object ChainApi {
  private val InBody = "\"after\": *\"([^\"]*)\"".r

  /** The options of every kind of pagination that follows pages. */
  val kinds: Map[String, Seq[(String, String)]] = Map(
    "cursor" -> Seq("pagination" -> "cursor", "nextCursor" -> "/meta/next"),
    "cursor in headers" -> Seq(
      "pagination" -> "cursor",
      "nextCursorHeader" -> "X-Next",
      "cursorHeader" -> "X-Cursor",
      "endOfList" -> "assumed"),
    "keyset" -> Seq("pagination" -> "keyset", "keyField" -> "/id"),
    "link" -> Seq("pagination" -> "link"),
    "next-url" -> Seq("pagination" -> "next-url", "nextUrl" -> "/meta/url")
  ).map { case (kind, options) => kind -> (options :+ ("records" -> "/data")) }

  def using[A](records: Int)(body: ChainApi => A): A = {
    val api = new ChainApi
    api.count = records
    try body(api)
    finally api.close()
  }
}
