package io.epochal.rest.source.window

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.util.concurrent.ConcurrentLinkedQueue

import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** @param at
  *   the moment of the record
  */
final case class Event(id: Int, at: Instant)

/** An API that returns the events of an interval of time, `{"id":0,"at":"…","name":"event 0"}`, in pages by offset, page
  * number, cursor, key, `Link` header, or URL.
  */
final class WindowApi extends StubServer("/events") {
  @volatile var events: Vector[Event] = Vector.empty
  @volatile var pageSize: Int = 3

  /** Whether events at the moment where a window ends are returned, too. */
  @volatile var inclusive: Boolean = false

  /** Further fields as JSON, with the comma before them. */
  @volatile var more: Event => String = _ => ""

  /** A page of events, with the name of the next one. */
  @volatile var body: (Seq[Event], String) => String = (page, follows) => {
    val records = page
      .map(event => s"""{"id":${event.id}, "at" : "${event.at}" ,"name":"event ${event.id}"${more(event)}}""")
      .mkString("[ ", " , ", "]")
    s"""{$follows,"data":$records}"""
  }

  /** Parses a moment. */
  @volatile var moment: String => Instant = Instant.parse

  /** Maps the requested start of a page to the actual one. */
  @volatile var placed: Int => Int = identity

  @volatile var before: () => Int = () => 200

  /** Status of a refusal, from the first record of the page and the number of records in the window. */
  @volatile var refuses: (Int, Int) => Option[Int] = (_, _) => None

  private val log = new ConcurrentLinkedQueue[String]

  /** The windows and page starts of all requests since the last call, as `from/to#place`. */
  def requests(): Seq[String] = Iterator.continually(log.poll()).takeWhile(_ != null).toSeq

  override protected def serve(exchange: HttpExchange): Unit = {
    val query = Option(exchange.getRequestURI.getRawQuery).toSeq.flatMap(_.split('&')).filter(_.contains('='))
    val request = new String(exchange.getRequestBody.readAllBytes(), UTF_8)
    val inBody = WindowApi.Field.findAllMatchIn(request).map(found => found.group(1) -> found.group(2)).toMap
    val params = inBody ++ query.map { pair =>
      val Array(name, value) = pair.split("=", 2)
      name -> URLDecoder.decode(value, UTF_8)
    }
    val from = params.getOrElse("from", params.getOrElse("since", ""))
    val to = params.getOrElse("to", params.getOrElse("until", ""))
    val found = events
      .filter(event =>
        !event.at.isBefore(moment(from)) && (event.at.isBefore(moment(to)) || inclusive && event.at == moment(to)))
      .sortBy(event => (event.at, event.id))
    val size = params.get("per_page").fold(pageSize)(_.toInt)
    val place = params
      .get("cursor")
      .map(_.drop(1).toInt)
      .orElse(params.get("after").map(key => found.indexWhere(_.id == key.toInt) + 1))
      .orElse(params.get("_start").map(_.toInt))
      .orElse(params.get("page").map(number => (number.toInt - 1) * size))
      .map(placed)
      .getOrElse(0)
    log.add(s"$from/$to#$place")
    val status = refuses(place, found.size).getOrElse(before())
    if (status != 200) exchange.sendResponseHeaders(status, -1)
    else {
      val paged = params.contains("paged")
      val page = if (paged) found.slice(place, place + size) else found
      val next = Option.when(paged && place + size < found.size)(place + size)
      val link = next.map(n => s"$url?${(query.filterNot(_.startsWith("cursor=")) :+ s"cursor=c$n").mkString("&")}")
      link.foreach(l => exchange.getResponseHeaders.add("Link", s"""<$l>; rel="next""""))
      val follows = s""""next":${next.fold("null")(n => s"\"c$n\"")},"url":${link.fold("null")(l => s"\"$l\"")}"""
      val bytes = body(page, follows).getBytes(UTF_8)
      exchange.sendResponseHeaders(200, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
    }
  }
}

object WindowApi {
  private val Field = "\"(\\w+)\": *\"?([^\",}]*)".r

  /** The options of every pagination within windows, for pages of three events. */
  val kinds: Map[String, Seq[(String, String)]] = Map(
    "none" -> Nil,
    "offset" -> Seq("pageSize" -> "3", "params.paged" -> "1"),
    "page" -> Seq("pageSize" -> "3", "params.paged" -> "1"),
    "cursor" -> Seq("nextCursor" -> "/next", "params.paged" -> "1"),
    "keyset" -> Seq("keyField" -> "/id", "cursorParam" -> "after", "params.paged" -> "1"),
    "link" -> Seq("params.paged" -> "1"),
    "next-url" -> Seq("nextUrl" -> "/url", "params.paged" -> "1")
  ).map { case (kind, options) => kind -> (("windowPagination" -> kind) +: options) }

  val start: Instant = Instant.parse("2026-01-01T00:00:00Z")

  def using[A](body: WindowApi => A): A = {
    val api = new WindowApi
    try body(api)
    finally api.close()
  }
}
