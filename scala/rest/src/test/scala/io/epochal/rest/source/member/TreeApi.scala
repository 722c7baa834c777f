package io.epochal.rest.source.member

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.HttpExchange

import io.epochal.rest.http.StubServer

/** An API of lists that depend on each other: `/tree/orgs`, `/tree/repos?org=…`, and records at `/tree/items/<org>/<repo>`.
  * Pages have `next`, a cursor; counted pages are requested by `_start` and `_limit`, or `page` and `per_page`.
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
  @volatile var largest = 100

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
      .toMap
    val all = path.split('/').toSeq.drop(1).map(URLDecoder.decode(_, UTF_8)) match {
      case Seq("orgs") => orgs.keys.toSeq.sorted.map(org => s"""{"login":"$org"}""")
      case Seq("repos") =>
        val found = query.get("org").fold(orgs.toSeq.sortBy(_._1))(org => Seq(org -> orgs.getOrElse(org, Vector.empty)))
        found.flatMap { case (org, repos) =>
          repos.map(repo => s"""{"name":"$repo","owner":{"login":"$org"},"stars":${repo.length}}""")
        }
      case Seq("items", org, repo) => ids(s"$org/$repo").map(id => s"""{"id":"$id"}""")
      case _                       => Nil
    }
    val size = math.min(largest, query.get("_limit").orElse(query.get("per_page")).fold(4)(_.toInt))
    val from = query
      .get("_start")
      .orElse(query.get("page").map(page => s"${(page.toInt - 1) * size}"))
      .orElse(query.get("cursor"))
      .fold(0)(_.toInt)
    val until = math.min(all.size, from + size)
    val next = if (until < all.size) s"\"$until\"" else "null"
    val again = if (loops) s",\"again\":\"${(from + 4) % 12}\"" else ""
    val body = s"""{"data":[${all.slice(from, until).mkString(",")}],"next":$next$again}"""
    val tag = s"\"${body.hashCode}\""
    val code = status(path)
    if (tagged) exchange.getResponseHeaders.set("ETag", tag)
    exchange.getResponseHeaders.set("Content-Type", "application/json")
    if (code == 200 && headers.get("if-none-match").contains(tag)) exchange.sendResponseHeaders(304, -1)
    else {
      val bytes = body.getBytes(UTF_8)
      exchange.sendResponseHeaders(code, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
    }
  }
}

object TreeApi {

  /** Paginations of the lists of records. */
  val kinds: Map[String, Map[String, String]] = Map(
    "cursor" -> Map("pagination" -> "cursor", "nextCursor" -> "/next"),
    "none" -> Map("params._limit" -> "100"),
    "offset" -> Map("pagination" -> "offset", "pageSize" -> "4"),
    "page" -> Map("pagination" -> "page", "pageSize" -> "4")
  )

  /** The options of a query for all records; the parent lists all repositories. */
  def options(api: TreeApi, kind: String): Map[String, String] = kinds(kind) ++ Map(
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
  )

  def using[A](body: TreeApi => A): A = {
    val api = new TreeApi
    try body(api)
    finally api.close()
  }
}
