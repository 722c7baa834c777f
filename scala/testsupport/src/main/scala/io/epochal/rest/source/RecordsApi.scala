package io.epochal.rest.source

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** Stub API with `count` records `{"id":0,"name":"record 0"}`, …, by offset (`_start`, `_limit`) or by page (`page`, `per_page`).
  * Without these parameters it returns all records.
  */
final class RecordsApi extends StubServer("/records") {
  @volatile var count: Int = 0

  /** Maximum page size. */
  @volatile var cap: Int = Int.MaxValue

  /** Maximum size of single pages, by their first record. */
  @volatile var capAt: Map[Long, Int] = Map.empty

  /** Whether the requested start is rounded down to a multiple of the page size. */
  @volatile var rounds: Boolean = false

  /** JSON of record `i`, and the body around the array. */
  @volatile var record: Int => String = i => s"""{"id":$i,"name":"record $i"}"""
  @volatile var body: String => String = identity

  /** The header `X-Total`; null: no header. */
  @volatile var total: () => String = () => null

  /** Additional headers of every response. */
  @volatile var headers: Seq[(String, String)] = Nil

  /** Status for a page behind the last one with records, unless it is the first page. */
  @volatile var behind: Option[Int] = None

  /** End of the last page that can be requested; a page that ends later gets 400 and `Unreachable`. */
  @volatile var reach: Long = Long.MaxValue

  /** Size of all pages, whatever `per_page` is. */
  @volatile var fixed: Option[Int] = None

  /** Status of the next response for a page, by the page's first record. Each is sent once. */
  val once = new ConcurrentHashMap[Long, Int]

  /** Status of every response. */
  @volatile var status: Int = 200

  /** Whether pages that do not begin at a multiple of their size get 400. */
  @volatile var strict: Boolean = false

  /** Called with every request, before the response. */
  @volatile var before: () => Unit = () => ()

  private val queries = new ConcurrentLinkedQueue[String]

  /** Query strings of all requests since the last call. */
  def requests(): Seq[String] = Iterator.continually(queries.poll()).takeWhile(_ != null).toSeq

  override protected def serve(exchange: HttpExchange): Unit = {
    val query = String.valueOf(exchange.getRequestURI.getRawQuery)
    queries.add(query)
    before()
    val params = query
      .split('&')
      .filter(_.contains('='))
      .map { pair =>
        val Array(name, value) = pair.split("=", 2)
        URLDecoder.decode(name, UTF_8) -> URLDecoder.decode(value, UTF_8)
      }
      .toMap
    val (asked, size) = params match {
      case p if p.contains("_start") => (p("_start").toLong, p("_limit").toInt)
      case p if p.contains("page") =>
        val size = fixed.getOrElse(p("per_page").toInt)
        ((p("page").toLong - 1) * math.min(size, cap), size)
      case _ => (0L, Int.MaxValue)
    }
    val from = if (rounds) asked / size * size else asked
    val until = math.min(count.toLong, from + math.min(size, math.min(cap, capAt.getOrElse(from, cap))))
    val bytes = body((from until until).map(i => record(i.toInt)).mkString("[", ",", "]")).getBytes(UTF_8)
    exchange.getResponseHeaders.add("Content-Type", "application/json")
    Option(total()).foreach(exchange.getResponseHeaders.add("X-Total", _))
    headers.foreach { case (name, value) => exchange.getResponseHeaders.add(name, value) }
    val refused =
      if (once.containsKey(from)) Some(once.remove(from))
      else if (strict && from % size != 0) Some(400)
      else if (from > 0 && size < Int.MaxValue && from + size > reach) Some(400)
      else behind.filter(_ => from > 0 && from >= count)
    refused.orElse(Some(status).filter(_ != 200)) match {
      case Some(400) if reach < Long.MaxValue =>
        val text = RecordsApi.Unreachable.getBytes(UTF_8)
        exchange.sendResponseHeaders(400, text.length.toLong)
        exchange.getResponseBody.write(text)
      case Some(code) => exchange.sendResponseHeaders(code, -1)
      case None =>
        exchange.sendResponseHeaders(200, bytes.length.toLong)
        exchange.getResponseBody.write(bytes)
    }
  }
}

object RecordsApi {
  val Unreachable = """{"error":"limit + offset is too large","you":"hunter2-key"}"""

  def using[A](records: Int)(body: RecordsApi => A): A = {
    val api = new RecordsApi
    api.count = records
    try body(api)
    finally api.close()
  }
}
