package io.epochal.rest.source

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentLinkedQueue

import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** Stub API with `count` records `{"id":0,"name":"record 0"}`, … in pages that link to the next one: by a cursor in the body
  * (`/meta/next`) and in a header (`X-Next`), by a `Link` header, and by a URL in the body (`/meta/url`). The cursor is read from the
  * parameter `cursor`, the header `X-Cursor`, or the body of a POST. A cursor that is only a number is the id of the record before the
  * page.
  */
final class ChainApi extends StubServer("/records") {
  @volatile var count: Int = 0
  @volatile var pageSize: Int = 4

  /** Converts the index of a page's first record to a cursor, and back. */
  @volatile var cursor: Long => String = from => s"c$from"
  @volatile var position: String => Long =
    token => if (token.startsWith("c")) token.drop(1).toLong else token.toLong + 1

  /** Cursor after the page that begins at a record; None: last page. */
  @volatile var after: Long => Option[String] =
    from => Option.when(from + pageSize < count)(cursor(from + pageSize))

  /** Records of the page that begins at a record. */
  @volatile var page: Long => Seq[Long] = from => from until math.min(count.toLong, from + pageSize)

  /** JSON of record `i`. */
  @volatile var record: Long => String = i => s"""{"id":$i,"name":"record $i"}"""

  /** Renders a response body from records and metadata. */
  @volatile var body: (Seq[String], String) => String = (records, meta) =>
    s"""{"data":${records.mkString("[", " , ", "]")},"meta":$meta}"""

  /** The flag `/meta/more`, as JSON; empty: no flag. */
  @volatile var more: Long => String = from => s"${after(from).nonEmpty}"

  /** Address of a page, from its query. */
  @volatile var address: String => String = query => s"$url?$query"

  /** Called with every request; a status other than 200 is sent as the response. */
  @volatile var before: () => Int = () => 200

  private val cursors = new ConcurrentLinkedQueue[String]

  /** Cursors of all requests since the last call; "" for none. An id is converted to the page's cursor. */
  def requests(): Seq[String] = Iterator.continually(cursors.poll()).takeWhile(_ != null).toSeq

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
    cursors.add(token.fold("")(text => if (text.forall(_.isDigit)) cursor(position(text)) else text))
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

  /** Options for every kind of pagination that follows links or cursors. */
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
