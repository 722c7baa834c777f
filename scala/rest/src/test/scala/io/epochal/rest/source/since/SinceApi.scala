package io.epochal.rest.source.since

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.concurrent.TrieMap

import com.fasterxml.jackson.databind.ObjectMapper
import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** @param at
  *   the moment of its last change
  */
final case class Item(id: Int, at: Instant, version: Int)

/** An API that returns the items of a list that have changed since a moment, `{"id":1,"version":0,"updated_at":"…"}`, in
  * pages by offset, page number, cursor, key or `Link` header; also those that a JSON body or a GraphQL query requests. Lists are at `/since/items/<name>`, their names at
  * `/since/lists`. A cursor belongs to the items as they were at its first page.
  */
final class SinceApi extends StubServer("/since") {
  val lists: TrieMap[String, Vector[Item]] = TrieMap("a" -> Vector.empty)
  @volatile var size: Int = 3
  @volatile var inclusive: Boolean = true

  /** Whether requests with `since` return all items. */
  @volatile var ignores: Boolean = false
  @volatile var order: Seq[Item] => Seq[Item] = _.sortBy(item => (item.at, item.id))
  @volatile var hidden: Item => Boolean = _ => false

  /** Parses and writes moments. */
  @volatile var moment: String => Instant = Instant.parse
  @volatile var value: Instant => String = at => s"\"$at\""
  @volatile var json: Item => String =
    item => s"""{"id":${item.id}, "version": ${item.version},"updated_at":${value(item.at)}}"""
  @volatile var status: Int = 200

  /** Whether responses have the number of items of all pages. */
  @volatile var totals: Boolean = false

  /** Whether pages of counted lists behind the first are empty. */
  @volatile var lost: Boolean = false

  private val snapshots = TrieMap.empty[Int, Vector[Item]]
  private val number = new AtomicInteger
  private val log = new ConcurrentLinkedQueue[String]

  /** The requests since the last call, as `list?since#place`; those answered by 304 end in `!`. */
  def requests(): Seq[String] = Iterator.continually(log.poll()).takeWhile(_ != null).toSeq

  def put(list: String, item: Item): Unit =
    lists.updateWith(list)(before => Some(before.getOrElse(Vector.empty).filter(_.id != item.id) :+ item)): Unit

  override protected def serve(exchange: HttpExchange): Unit = {
    val uri = exchange.getRequestURI
    val query = Option(uri.getRawQuery).toSeq.flatMap(_.split('&')).map(_.split("=", 2)).collect {
      case Array(name, text) => name -> URLDecoder.decode(text, UTF_8)
    }
    val body = new ObjectMapper().readTree(exchange.getRequestBody.readAllBytes())
    def inBody(name: String, places: String*) =
      places.map(body.at).find(_.isValueNode).filter(!_.isNull).map(name -> _.asText)
    val params = query.toMap ++ inBody("since", "/filter/since", "/variables/since") ++
      inBody("cursor", "/cursor", "/variables/after")
    val list = uri.getPath.split('/').last
    val since = params.get("since")
    def found = order(lists.getOrElse(list, Vector.empty).filter { item =>
      !hidden(item) && since.filter(_ => !ignores).map(moment).forall { from =>
        if (inclusive) !item.at.isBefore(from) else item.at.isAfter(from)
      }
    }).toVector
    val pageSize = params.get("_limit").orElse(params.get("per_page")).fold(size)(_.toInt)
    val place = params
      .get("_start")
      .map(_.toInt)
      .orElse(params.get("page").map(page => (page.toInt - 1) * pageSize))
      .orElse(params.get("cursor").map(_.dropWhile(_ != '-').drop(1).toInt))
    val (page, next) =
      if (list == "lists") (lists.keys.toSeq.sorted.map(name => s"""{"name":"$name"}"""), None)
      else if (params.contains("paged") && !params.contains("keys")) {
        val snapshot = params
          .get("cursor")
          .fold {
            val one = number.incrementAndGet()
            snapshots(one) = found
            one
          }(_.takeWhile(_ != '-').toInt)
        val (all, from) = (snapshots(snapshot), place.getOrElse(0))
        (all.slice(from, from + size).map(json), Option.when(from + size < all.size)(s"$snapshot-${from + size}"))
      } else if (params.contains("keys"))
        (found.sortBy(_.id).filter(_.id > params.get("after").fold(-1)(_.toInt)).take(size).map(json), None)
      else
        (
          place
            .fold(found)(from => if (lost && from > 0) Vector.empty else found.slice(from, from + pageSize))
            .map(json),
          None)
    next.foreach { cursor =>
      val kept = query.filter(_._1 != "cursor").map { case (name, text) => s"$name=$text" } :+ s"cursor=$cursor"
      exchange.getResponseHeaders.set("Link", s"""<${uri.getPath}?${kept.mkString("&")}>; rel="next"""")
    }
    val (items, cursor) = (page.mkString("[", " , ", "]"), next.fold("null")(cursor => s"\"$cursor\""))
    val text =
      if (!body.has("query")) s"""{"data":$items,"next":$cursor${if (totals) s",\"n\":${found.size}" else ""}}"""
      else s"""{"data":{"items":{"nodes":$items,"pageInfo":{"hasNextPage":${next.nonEmpty},"endCursor":$cursor}}}}"""
    val tag = s"\"${text.hashCode}\""
    exchange.getResponseHeaders.set("ETag", tag)
    val same = Option(exchange.getRequestHeaders.getFirst("If-None-Match")).contains(tag)
    val at = place.map(_.toString).orElse(params.get("after")).getOrElse("0")
    if (list != "lists") log.add(s"$list?${since.getOrElse("")}#$at${if (same) "!" else ""}")
    if (status != 200 || same) exchange.sendResponseHeaders(if (same) 304 else status, -1)
    else {
      val bytes = text.getBytes(UTF_8)
      exchange.sendResponseHeaders(200, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
    }
  }
}

object SinceApi {

  /** The options of every pagination, for pages of three items. */
  val kinds: Map[String, Map[String, String]] = Map(
    "none" -> Map.empty,
    "offset" -> Map("pagination" -> "offset", "pageSize" -> "3"),
    "page" -> Map("pagination" -> "page", "pageSize" -> "3"),
    "cursor" -> Map("pagination" -> "cursor", "nextCursor" -> "/next", "params.paged" -> "1"),
    "keyset" -> Map(
      "pagination" -> "keyset",
      "keyField" -> "/id",
      "cursorParam" -> "after",
      "params.paged" -> "1",
      "params.keys" -> "1"),
    "link" -> Map("pagination" -> "link", "endOfList" -> "assumed", "params.paged" -> "1"),
    "body" -> Map(
      "pagination" -> "cursor",
      "nextCursor" -> "/next",
      "cursorBody" -> "/cursor",
      "sinceBody" -> "/filter/since",
      "sinceStart" -> "2020-01-01T00:00:00Z",
      "requestBody" -> """{"filter":{"kind":"a"}}""",
      "params.paged" -> "1"),
    "graphql" -> Map(
      "pagination" -> "graphql",
      "connection" -> "/data/items",
      "sinceVariable" -> "since",
      "query" -> "query($after: String, $since: T) { items { nodes { id } pageInfo { hasNextPage endCursor } } }",
      "params.paged" -> "1")
  )

  val start: Instant = Instant.parse("2024-01-01T12:00:00Z")
}
