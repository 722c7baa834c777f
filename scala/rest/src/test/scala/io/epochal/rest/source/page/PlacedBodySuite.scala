package io.epochal.rest.source.page

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.sun.net.httpserver.HttpExchange
import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.http.StubServer
import io.epochal.rest.source._

/** JSON bodies in which a cursor or a position is put at a place, and GraphQL. */
final class PlacedBodySuite extends AnyFunSuite {
  private val url = "http://127.0.0.1/search"

  private def read(more: (String, String)*): RestOptions =
    RestOptions.read(Map("url" -> url) ++ more).fold(throw _, identity)

  private def refused(more: (String, String)*): EpochalException =
    RestOptions.read(Map("url" -> url) ++ more).fold(identity, good => fail(s"was taken: $good"))

  private def text(call: io.epochal.rest.http.HttpCall): (String, String, String) =
    (call.method, call.target, call.body.fold("")(body => new String(body.bytes, UTF_8)))

  private def counted(options: RestOptions, record: Long): (String, String, String) =
    text(options.requests.call(options.requests.pagination.request(record)))

  private def followed(options: RestOptions, token: Option[String]): (String, String, String) =
    text(
      options.requests.pageCall
        .of(options.requests.endpoint, options.requests.paging.asInstanceOf[ChainedPagination], token))

  private val cursors = Seq("pagination" -> "cursor", "nextCursor" -> "/next", "records" -> "/data")

  test("a position and a size are put at their places, also within objects and arrays, beside what the body has") {
    val byOffset = read(
      "pagination" -> "offset",
      "pageSize" -> "10",
      "offsetBody" -> "/page/from",
      "limitBody" -> "/a/1/n",
      "requestBody" -> """{"q":"$x","f":1.50,"big":12345678901234567890,"a":[0,{"n":7}]}""")
    val body = """{"q":"$x","f":1.50,"big":12345678901234567890,"a":[0,{"n":10}],"page":{"from":20}}"""
    assert(counted(byOffset, 25) == (("POST", "/search", body)))
    val byPage = read("pagination" -> "page", "firstPage" -> "0", "pageBody" -> "/p", "limitBody" -> "/n")
    assert(counted(byPage, 250) == (("POST", "/search", """{"p":2,"n":100}""")))
    assert(counted(read("pagination" -> "page", "pageBody" -> "/p"), 0)._3 == """{"p":1}""")
  }

  test("a cursor is put into the body as JSON, and the first request has none, or the given one") {
    def bodies(more: (String, String)*) = {
      val options =
        read(cursors ++ Seq("cursorBody" -> "/from/cursor", "requestBody" -> """{"from":{"x":1}}""") ++ more: _*)
      Seq(None, Some("\"a\\\"b\""), Some("[1,\"x\"]")).map(followed(options, _)._3)
    }
    val later = Seq("""{"from":{"x":1,"cursor":"a\"b"}}""", """{"from":{"x":1,"cursor":[1,"x"]}}""")
    assert(bodies() == """{"from":{"x":1}}""" +: later)
    assert(bodies("firstCursor" -> "null") == """{"from":{"x":1,"cursor":null}}""" +: later)
    assert(bodies("firstCursor" -> "*") == """{"from":{"x":1,"cursor":"*"}}""" +: later)
    assert(bodies("firstCursor" -> "[0]").head == """{"from":{"x":1,"cursor":[0]}}""")
  }

  test("the method is GET, with a body POST, or the one that is set") {
    assert(followed(read(cursors :+ ("cursorBody" -> "/c"): _*), None) == (("POST", "/search", "{}")))
    Seq("GET", "POST", "QUERY").foreach { method =>
      val set = read("requestBody" -> "{}", "method" -> method)
      assert(counted(set, 0) == ((method, "/search", "{}")) && !set.requests.revalidates)
    }
    assert(
      counted(read("method" -> "POST"), 0) == (("POST", "/search", "")) && read("method" -> "GET").requests.revalidates)
    assert(!read("method" -> "POST").requests.revalidates)
    assert(followed(read(cursors :+ ("method" -> "POST"): _*), Some("x")) == (("POST", "/search?cursor=x", "")))
  }

  test("places that a body lacks or a pagination does not know, and other methods than it has, are refused") {
    Seq(
      Seq("pagination" -> "offset", "offsetBody" -> "/a/b", "limitBody" -> "/n", "requestBody" -> """{"a":1}""") ->
        "offsetBody=/a/b, limitBody=/n, a requestBody without such a place",
      Seq(
        "pagination" -> "offset",
        "offsetBody" -> "/a",
        "limitBody" -> "/n",
        "requestBody" -> "{} x") -> "requestBody",
      Seq(
        "pagination" -> "offset",
        "offsetBody" -> "/a/2",
        "limitBody" -> "/n",
        "requestBody" -> """{"a":[1]}""") -> "place",
      Seq("pagination" -> "offset", "offsetBody" -> "/a") -> "offsetBody without limitBody",
      Seq("pagination" -> "page", "limitBody" -> "/n") -> "limitBody without pageBody",
      Seq("pagination" -> "page", "offsetBody" -> "/n") -> "pagination=page, offsetBody",
      Seq("cursorBody" -> "/n") -> "pagination=none, cursorBody",
      (cursors ++ Seq("cursorBody" -> "/n", "cursorParam" -> "x")) -> "cursorParam, cursorBody",
      (cursors ++ Seq("cursorBody" -> "/n", "headers.Content-Type" -> "text/plain")) -> "the body is JSON",
      Seq("method" -> "QUERY") -> "method=QUERY without requestBody",
      Seq("pagination" -> "link", "method" -> "POST") -> "pagination=link, method",
      Seq("method" -> "PUT", "requestBody" -> "{}") -> "one of GET, POST, QUERY",
      Seq("pagination" -> "cursor", "nextCursor" -> "/a,/b") -> "nextCursor=/a,/b without cursorBody",
      (cursors ++ Seq("cursorBody" -> "/n", "nextCursor" -> "/data/-1/a,/data/-1/b")) -> "to the array with all parts"
    ).foreach { case (options, said) => assert(refused(options: _*).getMessage.contains(said), options) }
    val secret = refused(cursors ++ Seq("cursorBody" -> "/n/x", "requestBody" -> """{"n":"s3cret"}"""): _*)
    assert(!secret.getMessage.contains("s3cret"))
  }

  /** Records `{"id":0}`, … in a search by POST that answers each page's `sort` values, and a cursor of two parts. */
  final private class Search extends StubServer("/search") {
    private val json = new ObjectMapper
    @volatile var count = 0
    @volatile var page: (Seq[Int], Boolean) => String = (ids, more) => Search.hits(ids, more)
    @volatile var start: JsonNode => Option[Int] = _ => None
    val bodies = new ConcurrentLinkedQueue[String]

    override protected def serve(exchange: HttpExchange): Unit = {
      val body = new String(exchange.getRequestBody.readAllBytes(), UTF_8)
      bodies.add(s"${exchange.getRequestMethod} $body")
      val from = start(json.readTree(body)).getOrElse(0)
      val until = math.min(count, from + 4)
      val bytes = page(from until until, until < count).getBytes(UTF_8)
      exchange.sendResponseHeaders(200, bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
    }
  }

  private object Search {
    def hits(ids: Seq[Int], more: Boolean): String = {
      val hits = ids.map(id => s"""{"id":$id,"_source":{"id":$id},"sort":[1.50,"k$id"]}""").mkString("[", ",", "]")
      val next = ids.lastOption.filter(_ => more).fold("null,\"t\":null")(last => s"""$last,"t":"k$last"""")
      s"""{"hits":{"hits":$hits},"n":$next}"""
    }
  }

  private def search(
      set: Seq[(String, String)])(start: JsonNode => Option[Int])(body: (Search, IdQuery) => Any): Unit = {
    val api = new Search
    api.start = start
    try {
      val _ = body(api, new IdQuery(api.url, StructType.fromDDL("id INT"), set) {})
    } finally api.close()
  }

  private def growing(api: Search, query: IdQuery): Seq[Int] = Seq(0, 3, 4, 9, 9, 21).flatMap { count =>
    api.count = count
    val ids = Iterator.continually(query.batch(ReadLimit.maxRows(3))).takeWhile(_.nonEmpty).flatten.toVector
    query.restart()
    ids
  }

  private val hits =
    Seq("pagination" -> "cursor", "records" -> "/hits/hits", "requestBody" -> """{"size":4}""", "method" -> "QUERY")

  test(
    "search_after: the sort values of the last hit go into the body as they are, and a growing list is followed",
    Slow) {
    val set = hits ++ Seq("nextCursor" -> "/hits/hits/-1/sort", "cursorBody" -> "/search_after")
    search(set)(node => Option(node.get("search_after")).map(_.get(1).asText.drop(1).toInt + 1)) { (api, query) =>
      assert(growing(api, query) == (0 until 21))
      val sent = api.bodies.asScala.toSeq.distinct
      assert(sent.take(2) == Seq("""QUERY {"size":4}""", """QUERY {"size":4,"search_after":[1.50,"k2"]}"""), sent)
    }
  }

  test("newest first: the key of a page's first record is the cursor of the newer ones, over restarts") {
    val set = hits ++ Seq("nextCursor" -> "/hits/hits/0/id", "cursorBody" -> "/before", "firstCursor" -> "-1")
    search(set)(node => Some(node.get("before").asInt + 1)) { (api, query) =>
      api.page = (ids, more) => Search.hits(ids.reverse, more)
      assert(
        growing(api, query) == Seq(
          2 to 0 by -1,
          Seq(3),
          7 to 4 by -1,
          Seq(8),
          12 to 9 by -1,
          16 to 13 by -1,
          20 to 17 by -1).flatten)
      api.start = _ => Some(17)
      val error = intercept[EpochalException](query.batch())
      assert(error.getMessage.contains("the last of them with the key") || error.condition.name == "PAGINATION_LOOP")
    }
  }

  test("a cursor of several parts is sent as an array; null in all of them ends the list") {
    val set = hits ++ Seq("nextCursor" -> "/n,/t", "cursorBody" -> "/after", "recordPath" -> "/_source")
    search(set)(node => Option(node.get("after")).map(_.get(0).asInt + 1)) { (api, query) =>
      assert(growing(api, query) == (0 until 21))
      assert(api.bodies.asScala.exists(_.endsWith(""""after":[3,"k3"]}""")))
      api.page = (ids, _) => Search.hits(ids, more = true).replace("\"t\"", "\"u\"")
      val error = intercept[EpochalException](query.batch())
      assert(error.getMessage.contains("only 1 of the 2 parts of the next cursor"))
    }
  }

  test("-1 is the last element of any array, and only that of the last one") {
    val set = hits ++ Seq("nextCursor" -> "/pages/-1/at", "cursorBody" -> "/at", "recordPath" -> "/_source")
    search(set)(node => Option(node.get("at")).map(_.asInt)) { (api, query) =>
      api.page = (ids, more) =>
        s"""{"pages":[{"at":99},{"at":${if (more) (ids.last + 1).toString else "null"}}],${Search
            .hits(ids, more)
            .drop(1)}"""
      assert(growing(api, query) == (0 until 21))
    }
  }

  private val issues =
    "query($owner: String!, $after: String) { repository(owner: $owner) { issues(first: 4, after: $after) " +
      "{ nodes { id } pageInfo { hasNextPage endCursor } } } }"

  private val graph = Seq(
    "pagination" -> "graphql",
    "query" -> issues,
    "variables" -> """{"owner":"s3cret"}""",
    "connection" -> "/data/repository/issues")

  private def connection(ids: Seq[Int], more: Boolean, edges: Boolean): String = {
    val nodes = ids.map(id => s"""{"id":$id}""")
    val list = if (edges) nodes.map(one => s"""{"cursor":"x","node":$one}""") else nodes
    val end = ids.lastOption.fold("null")(id => s"\"c$id\"")
    s"""{"data":{"repository":{"issues":{"${if (edges) "edges" else "nodes"}":${list.mkString("[", ",", "]")},""" +
      s""""pageInfo":{"hasNextPage":$more,"endCursor":$end}}},"rateLimit":{"cost":1}}}"""
  }

  private def after(node: JsonNode): Option[Int] = {
    assert(node.path("variables").path("owner").asText == "s3cret" && node.path("query").asText == issues)
    Option(node.path("variables").get("after")).filter(!_.isNull).map(_.asText.drop(1).toInt + 1)
  }

  Seq(false, true).foreach { edges =>
    test(
      s"graphql: a growing connection of ${if (edges) "edges" else "nodes"} is followed by its cursor, over restarts") {
      search(graph)(after) { (api, query) =>
        api.page = connection(_, _, edges)
        assert(growing(api, query) == (0 until 21))
        assert(api.bodies.peek().endsWith(""""variables":{"owner":"s3cret","after":null}}"""))
      }
    }
  }

  test("graphql: errors in a response fail with their text, and those of a rate limit are requested again") {
    search(graph ++ Seq("headers.Authorization" -> "Bearer hunter2-key", "retry.initialDelay" -> "1ms"))(after) {
      (api, query) =>
        api.count = 3
        val errors = new ConcurrentLinkedQueue(
          Seq(
            """{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}""",
            """{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}""").asJava)
        api.page = (ids, more) => Option(errors.poll()).getOrElse(connection(ids, more, edges = false))
        assert(query.batch() == Seq(0, 1, 2) && api.bodies.size >= 3)
        api.page = (ids, more) =>
          connection(ids, more, edges = false).dropRight(1) + ""","errors":[{"message":"no field hunter2-key"}]}"""
        val error = intercept[EpochalException](query.batch())
        assert(error.condition.name == "HTTP_ERROR_IN_BODY" && error.getMessage.contains("no field ***"))
    }
  }

  test("graphql: the next query waits until its cost is available") {
    search(graph)(after) { (api, query) =>
      api.count = 8
      api.page = (ids, more) =>
        connection(ids, more, edges = false).dropRight(1) + ""","extensions":{"cost":{"requestedQueryCost":112,""" +
          """"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":12,"restoreRate":100.0}}}}"""
      val begun = System.nanoTime()
      assert(query.batch().size == 8)
      assert(System.nanoTime() - begun >= 1000 * 1000 * 1000L && query.metric("waitedMillis").toLong >= 300)
    }
  }

  test("graphql: what it cannot read is refused, and the query is part of the identity without its variables") {
    def without(name: String) = graph.filter(_._1 != name)
    Seq(
      without("query") -> "query",
      without("connection") -> "connection",
      (without("query") :+ ("query" -> "{ a }")) -> "query without $after",
      (without("query") :+ ("query" -> issues.replace("endCursor", ""))) -> "query without endCursor",
      (without("variables") :+ ("variables" -> "[1]")) -> "which is not a JSON object",
      (graph :+ ("requestBody" -> "{}")) -> "pagination=graphql, requestBody",
      (graph :+ ("method" -> "GET")) -> "requested with POST",
      (graph :+ ("bodyFormat" -> "csv")) -> "connection, bodyFormat=csv",
      Seq("cursorVariable" -> "x") -> "cursorVariable"
    ).foreach { case (options, said) => assert(refused(options: _*).getMessage.contains(said), options) }
    val one = read(graph: _*)
    assert(!one.source.contains("s3cret") && one.source.contains("graphql, connection=/data/repository/issues"))
    assert(one.source != read(without("variables"): _*).source)
  }
}
