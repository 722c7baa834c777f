package io.epochal.rest.source.member

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** An API of lists that depend on each other: `/tree/orgs`, `/tree/repos?org=…`, and records at `/tree/items/<org>/<repo>`.
  * Pages name the next one in every way; they are requested by `cursor`, also in a body, by `since`, the last record's id,
  * by `_start` and `_limit`, or `page` and `per_page`, and in the period from `from` to `to`.
  */
final class TreeApi extends StubServer("/tree") {

  /** Repositories by organization. */
  val orgs: TrieMap[String, Vector[String]] = TrieMap.empty

  /** Number of records of each repository: `org/repo`. */
  val counts: TrieMap[String, Int] = TrieMap.empty

  /** Statuses in place of lists. */
  @volatile var status: String => Int = _ => 200

  /** Called before each response. */
  @volatile var before: String => Unit = _ => ()

  /** The largest page that the server returns. */
  @volatile var largest = 100000

  @volatile var tagged = true

  /** Whether the field `again` leads from page to page in a circle. */
  @volatile var loops = false

  private val asked = new ConcurrentLinkedQueue[(String, Map[String, String])]

  /** Paths, queries and headers requested since the last call. */
  def requests(): Seq[(String, Map[String, String])] = {
    val all = asked.asScala.toVector
    asked.clear()
    all
  }

  def paths(): Seq[String] = requests().map(_._1)

  def add(repo: String, records: Int): Unit = {
    val (org, name) = (repo.takeWhile(_ != '/'), repo.dropWhile(_ != '/').drop(1))
    orgs.updateWith(org)(before => Some(before.getOrElse(Vector.empty).filter(_ != name) :+ name))
    counts.updateWith(repo)(before => Some(before.getOrElse(0) + records)): Unit
  }

  def ids(repo: String): Seq[String] = (0 until counts.getOrElse(repo, 0)).map(i => s"$repo#$i")

  /** Records that are not listed: of each list so many at its end, and some of any place. */
  val hidden: TrieMap[String, Int] = TrieMap.empty
  val deleted: TrieMap[String, Set[Int]] = TrieMap.empty

  /** The time of each record, in milliseconds. */
  val moments: TrieMap[String, Long] = TrieMap.empty

  /** The order in which parents are listed. */
  @volatile var order: Seq[String] => Seq[String] = identity

  /** Whether pages past the end of a list are refused. */
  @volatile var refuses = false

  private def listed(repo: String): Seq[Int] =
    (0 until counts.getOrElse(repo, 0) - hidden.getOrElse(repo, 0)).filterNot(deleted.getOrElse(repo, Set.empty))

  override protected def serve(exchange: HttpExchange): Unit = {
    val uri = exchange.getRequestURI
    val path = uri.getRawPath.stripPrefix("/tree")
    val headers = exchange.getRequestHeaders.asScala.map(one => one._1.toLowerCase(Locale.ROOT) -> one._2.get(0)).toMap
    asked.add(uri.toString.stripPrefix("/tree") -> headers)
    before(path)
    val query = Option(uri.getRawQuery).toSeq
      .flatMap(_.split('&'))
      .map(_.split("=", 2))
      .collect { case Array(name, value) => name -> URLDecoder.decode(value, UTF_8) }
      .toMap ++ bodyOf(exchange)
    val (all, numbers) = path.split('/').toSeq.drop(1).map(URLDecoder.decode(_, UTF_8)) match {
      case Seq("orgs") => order(orgs.keys.toSeq.sorted).map(org => s"""{"login":"$org"}""") -> Nil
      case Seq("repos") =>
        val found = query.get("org").fold(orgs.toSeq.sortBy(_._1))(org => Seq(org -> orgs.getOrElse(org, Vector.empty)))
        order(found.flatMap { case (org, repos) => repos.map(repo => s"$org/$repo") }).map { both =>
          val (org, repo) = (both.takeWhile(_ != '/'), both.dropWhile(_ != '/').drop(1))
          s"""{"name":"$repo","owner":{"login":"$org"},"stars":${repo.length}}"""
        } -> Nil
      case Seq("items", org, repo) =>
        val period = for { from <- query.get("from"); to <- query.get("to") } yield (from.toLong, to.toLong)
        val found = listed(s"$org/$repo").filter { i =>
          period.forall { case (from, to) =>
            val at = moments.getOrElse(s"$org/$repo#$i", 0L)
            from <= at && at < to
          }
        }
        found.map(i => s"""{"id":"$org/$repo#$i"}""") -> found
      case _ => Nil -> Nil
    }
    val size = math.min(largest, query.get("_limit").orElse(query.get("per_page")).fold(4)(_.toInt))
    val from = query
      .get("_start")
      .orElse(query.get("page").map(page => s"${(page.toInt - 1) * size}"))
      .orElse(query.get("cursor"))
      .orElse(query.get("since").map(key => s"${numbers.count(_ <= key.dropWhile(_ != '#').drop(1).toInt)}"))
      .fold(0)(_.toInt)
    val until = math.min(all.size, from + size)
    val more = until < all.size
    val next = if (more) s"\"$until\"" else "null"
    val again = if (loops) s",\"again\":\"${(from + 4) % 12}\"" else ""
    val there = s"$url$path?cursor=$until"
    val page = all.slice(from, until).mkString(",")
    val body = s"""{"data":[$page],"next":$next,"url":${if (more) s"\"$there\"" else "null"}$again,
      "items":{"nodes":[$page],"pageInfo":{"hasNextPage":$more,"endCursor":"$until"}}}"""
    val tag = s"\"${body.hashCode}\""
    val code =
      if (refuses && from > 0 && from >= all.size) 404 else status(path + query.get("org").fold("")("?org=" + _))
    if (tagged) exchange.getResponseHeaders.set("ETag", tag)
    exchange.getResponseHeaders.set("Content-Type", "application/json")
    exchange.getResponseHeaders.set("X-Next", if (more) s"$until" else "")
    exchange.getResponseHeaders.set("Link", s"<$there>; rel=\"${if (more) "next" else "last"}\"")
    if (code == 200 && headers.get("if-none-match").contains(tag)) exchange.sendResponseHeaders(304, -1)
    else {
      val bytes = body.getBytes(UTF_8)
      exchange.sendResponseHeaders(code, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
    }
  }

  /** The texts in a body, and in the variables of a GraphQL query. */
  private def bodyOf(exchange: HttpExchange): Map[String, String] = {
    val body = TreeApi.Json.readTree(exchange.getRequestBody)
    Seq(body, body.path("variables"))
      .flatMap(_.properties().asScala)
      .collect { case field if field.getValue.isTextual => field.getKey -> field.getValue.asText }
      .toMap
  }
}

object TreeApi {
  private val Json = new ObjectMapper()

  /** The values of the second and third level. */
  def three(api: TreeApi): Map[String, String] = Map(
    "parent.url" -> s"${api.url}/repos?org=$${owner}",
    "parent.fields" -> "repo=/name,stars=/stars",
    "parent.parent.url" -> s"${api.url}/orgs",
    "parent.parent.records" -> "/data",
    "parent.parent.pagination" -> "cursor",
    "parent.parent.nextCursor" -> "/next",
    "parent.parent.refreshInterval" -> "0s",
    "parent.parent.fields" -> "owner=/login"
  )

  /** Paginations of the lists of records. */
  val kinds: Map[String, Map[String, String]] = Map(
    "cursor" -> Map("pagination" -> "cursor", "nextCursor" -> "/next"),
    "cursor-body" -> Map("pagination" -> "cursor", "nextCursor" -> "/next", "cursorBody" -> "/cursor"),
    "cursor-header" -> Map("pagination" -> "cursor", "nextCursorHeader" -> "X-Next"),
    "graphql" -> Map(
      "pagination" -> "graphql",
      "query" -> "query($cursor: String) {items(after: $cursor) {nodes {id} pageInfo {hasNextPage endCursor}}}",
      "cursorVariable" -> "cursor",
      "connection" -> "/items",
      "records" -> "/items/nodes"),
    "keyset" -> Map("pagination" -> "keyset", "keyField" -> "/id", "cursorParam" -> "since"),
    "link" -> Map("pagination" -> "link"),
    "next-url" -> Map("pagination" -> "next-url", "nextUrl" -> "/url"),
    "none" -> Map("params._limit" -> "100000"),
    "offset" -> Map("pagination" -> "offset", "pageSize" -> "4"),
    "page" -> Map("pagination" -> "page", "pageSize" -> "4"),
    "time-window" -> Map(
      "pagination" -> "time-window",
      "windowStart" -> "1970-01-01T00:00:00Z",
      "windowLength" -> "10s",
      "windowFormat" -> "epoch-millis",
      "lag" -> "0s",
      "windowPagination" -> "cursor",
      "nextCursor" -> "/next")
  )

  /** The options of a query for all records; the parent lists all repositories. */
  def options(api: TreeApi, kind: String): Map[String, String] = Map(
    "url" -> s"${api.url}/items/$${owner}/$${repo}",
    "parent.url" -> s"${api.url}/repos",
    "parent.records" -> "/data",
    "parent.pagination" -> "cursor",
    "parent.nextCursor" -> "/next",
    "parent.refreshInterval" -> "0s",
    "parent.fields" -> "owner=/owner/login,repo=/name",
    "records" -> "/data",
    "refreshInterval" -> "0s",
    "retry.initialDelay" -> "1ms",
    "retry.maxDelay" -> "20ms"
  ) ++ kinds(kind)

  def using[A](body: TreeApi => A): A = {
    val api = new TreeApi
    try body(api)
    finally api.close()
  }
}
