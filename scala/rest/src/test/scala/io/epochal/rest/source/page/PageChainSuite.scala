package io.epochal.rest.source.page

import java.time.Instant

import scala.collection.mutable

import org.apache.hc.core5.http.message.BasicClassicHttpResponse
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.{Bodies, HttpCall, Refusal, ResponseHead, Validator}
import io.epochal.rest.source._

/** The consequences of responses for each pagination that is followed page after page, without a server. */
final class PageChainSuite extends AnyFunSuite {

  /** @param sent
    *   the query of the request, or its body
    * @param body
    *   or a status
    */
  private case class Reply(sent: String, body: String, headers: Seq[(String, String)] = Nil)

  private def read(options: (String, String)*): RestOptions =
    RestOptions
      .read(Map("url" -> "http://h/c", "schema" -> "id INT", "records" -> "/d") ++ options)
      .fold(throw _, identity)

  /** A page with so many records. */
  private def page(sent: String, ids: Range, rest: String = "", headers: Seq[(String, String)] = Nil): Reply =
    Reply(sent, s"""{"d":${ids.map(id => s"""{"id":$id}""").mkString("[", ",", "]")}$rest}""", headers)

  private def next(name: String): String = s""","next":"$name""""

  final private class Script(options: RestOptions, pagination: ChainedPagination, replies: Seq[Reply]) {
    val requests = mutable.Buffer.empty[String]
    private val chain = new PageChain(options, pagination, maxEmpty = 3)
    private val scan = options.scan(pagination.pointers, pagination.key, pagination.json)
    private val later = replies.groupBy(_.sent).map { case (sent, all) => sent -> mutable.Queue.from(all) }

    private def answer(call: HttpCall, skip: Option[Long]): PageAnswer = {
      val sent = call.body.fold(call.target.stripPrefix("/c").stripPrefix("?"))(body => new String(body.bytes, "UTF-8"))
      requests += sent + call.unless.fold("")(validator => s" unless ${validator.value}")
      val all = later.getOrElse(sent, fail(s"no reply to '$sent'"))
      val reply = if (all.sizeIs > 1) all.dequeue() else all.head
      val status = reply.body.toIntOption.getOrElse(200)
      val response = new BasicClassicHttpResponse(status)
      reply.headers.foreach { case (name, value) => response.addHeader(name, value) }
      val refusal = Option.when(status >= 400 && call.endAfter > 0)(Refusal(status, ""))
      val head = new ResponseHead(response, notModified = status == 304, refusal = refusal)
      val body = Bodies.of(if (status == 200) reply.body else "[]")
      new PageAnswer(head, if (status == 200) scan.read(body, skip.getOrElse(0)) else ScannedPage.nothing, body, scan)
    }

    @scala.annotation.tailrec
    private def run[A](step: Step[A]): Either[EpochalException, A] = step match {
      case Step.Done(value)                  => Right(value)
      case Step.Refuse(error)                => Left(error)
      case Step.Request(call, skip, _, next) => run(next(Some(answer(call, skip))))
    }

    /** Follows the list to its end.
      *
      * @return
      *   the number of records of each page, and the state or the refusal
      */
    def follow(start: ChainState = ChainState.First): (Seq[Int], Either[EpochalException, ChainState]) = {
      val delivered = mutable.Buffer.empty[Int]
      def next(state: ChainState): Either[EpochalException, ChainState] = run(chain.next(state)) match {
        case Left(error) => Left(error)
        case Right(one) =>
          delivered += one.records
          if (chain.isAtEnd(one.state)) Right(one.state) else next(one.state)
      }
      val end = next(chain.begin(start, Instant.parse("2026-01-01T03:00:00Z"), again = false))
      (delivered.toSeq, end)
    }
  }

  private def script(options: (String, String)*)(replies: Reply*): Script = {
    val parsed = read(options: _*)
    val pagination = parsed.paging match {
      case counted: Pagination        => CountedPages(counted, total = ListTotal.of(parsed), grows = true)
      case chained: ChainedPagination => chained
      case other                      => fail(s"$other")
    }
    new Script(parsed, pagination, replies)
  }

  private val cursor = Seq("pagination" -> "cursor", "nextCursor" -> "/next")
  private val flagged = cursor :+ ("hasMore" -> "/more")
  private val keyset = Seq("pagination" -> "keyset", "keyField" -> "/id")
  private val link = Seq("pagination" -> "link")
  private val nextUrl = Seq("pagination" -> "next-url", "nextUrl" -> "/next")
  private val offset = Seq("pagination" -> "offset", "pageSize" -> "2")
  private val byPage = Seq("pagination" -> "page", "pageSize" -> "2")
  private val windows = Seq(
    "pagination" -> "time-window",
    "windowStart" -> "2026-01-01T00:00:00Z",
    "windowLength" -> "1h",
    "windowFormat" -> "epoch-seconds")
  private def window(hour: Int, more: String = ""): String = {
    val from = 1767225600L + 3600 * hour
    s"from=$from&to=${from + 3600}$more"
  }
  private def linked(links: String*): Seq[(String, String)] = links.map("Link" -> _)

  /** Name, options, replies, and the records of each page. */
  private val ends = Seq[(String, Seq[(String, String)], Seq[Reply], Seq[Int])](
    (
      "null ends a list",
      cursor,
      Seq(page("", 0 until 2, next("a")), page("cursor=a", 2 until 3, ""","next":null""")),
      Seq(2, 1)),
    ("an empty text ends a list", cursor, Seq(page("", 0 until 2, next(""))), Seq(2)),
    ("false ends a list", cursor, Seq(page("", 0 until 2, ""","next":false""")), Seq(2)),
    (
      "null on the way to the cursor ends a list",
      Seq("pagination" -> "cursor", "nextCursor" -> "/meta/next"),
      Seq(page("", 0 until 2, ""","meta":null""")),
      Seq(2)),
    (
      "a cursor that one page had may be absent from the last",
      cursor,
      Seq(page("", 0 until 2, next("a")), page("cursor=a", 2 until 3)),
      Seq(2, 1)),
    (
      "endOfList=assumed: an absent cursor ends a list",
      cursor :+ ("endOfList" -> "assumed"),
      Seq(page("", 0 until 2)),
      Seq(2)),
    ("a page without records ends a list", cursor, Seq(page("", 0 until 0)), Seq(0)),
    (
      "a page without records that names another one is skipped",
      cursor,
      Seq(page("", 0 until 0, next("a")), page("cursor=a", 0 until 1, ""","next":null""")),
      Seq(0, 1)),
    (
      "emptyPages=end: a page without records ends a list",
      cursor :+ ("emptyPages" -> "end"),
      Seq(page("", 0 until 0, next("a"))),
      Seq(0)),
    (
      "a page without records that names itself is the end for now",
      cursor,
      Seq(page("", 0 until 2, next("a")), page("cursor=a", 0 until 0, next("a"))),
      Seq(2, 0)),
    (
      "a false flag ends a list, whatever the cursor",
      flagged,
      Seq(
        page("", 0 until 2, ""","next":"a","more":true"""),
        page("cursor=a", 0 until 1, ""","next":"b","more":false""")),
      Seq(2, 1)),
    ("a false flag ends a list without a cursor", flagged, Seq(page("", 0 until 2, ""","more":0""")), Seq(2)),
    (
      "lastPage: a true flag ends a list",
      cursor :+ ("lastPage" -> "/last"),
      Seq(
        page("", 0 until 2, ""","next":"a","last":false"""),
        page("cursor=a", 0 until 1, ""","next":"b","last":true""")),
      Seq(2, 1)),
    (
      "endOfList=repeated: a page that names itself is the last",
      cursor :+ ("endOfList" -> "repeated"),
      Seq(page("", 0 until 2, next("a")), page("cursor=a", 2 until 3, next("a"))),
      Seq(2, 1)),
    ("keyset: an empty page ends a list", keyset, Seq(page("", 0 until 2), page("cursor=1", 0 until 0)), Seq(2, 0)),
    (
      "keyset: a flag saves the last empty page",
      keyset :+ ("hasMore" -> "/more"),
      Seq(page("", 0 until 2, ""","more":false""")),
      Seq(2)),
    (
      "a text key is sent unchanged",
      Seq("pagination" -> "keyset", "keyField" -> "/k"),
      Seq(Reply("", """{"d":[{"k":"a b"}]}"""), page("cursor=a%20b", 0 until 0)),
      Seq(1, 0)),
    (
      "link: a page with other links, but no next one, is the last",
      link,
      Seq(
        page("", 0 until 2, "", linked("</c?p=2>; rel=next")),
        page("p=2", 2 until 3, "", linked("<u>; rel=preload, <v>; rel=\"last\""))),
      Seq(2, 1)),
    (
      "link: the only page with a link to the first one is the last",
      link,
      Seq(page("", 0 until 2, "", linked("<u>; rel=first"))),
      Seq(2)),
    (
      "next-url: an address may be relative",
      nextUrl,
      Seq(page("", 0 until 2, next("?p=2")), page("p=2", 2 until 3, ""","next":null""")),
      Seq(2, 1)),
    (
      "window: each window begins where the one before ended",
      windows,
      (0 to 2).map(hour => page(window(hour), 0 until hour)),
      Seq(0, 1)),
    (
      "window: pages by offset, up to an empty one",
      windows ++ Seq("windowPagination" -> "offset", "pageSize" -> "2", "lag" -> "2h"),
      Seq(
        page(window(0, "&_start=0&_limit=2"), 0 until 2),
        page(window(0, "&_start=2&_limit=2"), 0 until 1),
        page(window(0, "&_start=3&_limit=2"), 0 until 0)),
      Seq(2, 1, 0)),
    (
      "window: equal pages of a server with the parameter are accepted",
      windows ++ Seq("windowPagination" -> "page", "pageSize" -> "2", "lag" -> "2h"),
      Seq(
        page(window(0, "&page=1&per_page=2"), 0 until 2),
        page(window(0, "&page=2&per_page=2"), 0 until 2),
        page(window(0, "&page=3&per_page=2"), 0 until 0),
        page(window(0, "&page=536870913&per_page=2"), 0 until 0)),
      Seq(2, 2, 0)),
    (
      "offset: a short page is the last, if nothing follows it",
      offset,
      Seq(
        page("_start=0&_limit=2", 0 until 2),
        page("_start=2&_limit=2", 2 until 3),
        page("_start=3&_limit=2", 0 until 0)),
      Seq(2, 1)),
    (
      "offset: an empty page after a full one ends a list",
      offset,
      Seq(page("_start=0&_limit=2", 0 until 2), page("_start=2&_limit=2", 0 until 0)),
      Seq(2, 0)),
    (
      "offset: a total ends a list with a full page",
      offset :+ ("totalCount" -> "/total"),
      Seq(page("_start=0&_limit=2", 0 until 2, ""","total":2""")),
      Seq(2)),
    (
      "page: a short first page is the last, since the next one is empty",
      byPage,
      Seq(page("page=1&per_page=2", 0 until 1), page("page=2&per_page=2", 0 until 0)),
      Seq(1)),
    (
      "page: a refused page after a full one is past the end, as another page size proves",
      Seq("pagination" -> "page", "pageSize" -> "3"),
      Seq(
        page("page=1&per_page=3", 0 until 3),
        Reply("page=2&per_page=3", "404"),
        page("page=2&per_page=2", 2 until 3)),
      Seq(3, 0)),
    ("none: one response has all records", Nil, Seq(page("", 0 until 5)), Seq(5))
  )

  ends.foreach { case (name, options, replies, records) =>
    test(name) {
      val (delivered, end) = script(options: _*)(replies: _*).follow()
      assert(end.isRight, end)
      assert(delivered == records)
    }
  }

  /** Name, options, replies, the records of each page before the refusal, its condition and a part of its message. */
  private val refusals = Seq[(String, Seq[(String, String)], Seq[Reply], Seq[Int], String, String)](
    (
      "an absent cursor of a first page is no end",
      cursor,
      Seq(page("", 0 until 2, ""","meta":{"next":"a"}""", linked("<u>"))),
      Nil,
      "CONTINUATION_MISSING",
      "nothing at '/next'"),
    (
      "an absent URL of a first page is no end",
      nextUrl,
      Seq(page("", 0 until 2)),
      Nil,
      "CONTINUATION_MISSING",
      "Set 'nextUrl'"),
    (
      "an absent header of a first page is no end",
      Seq("pagination" -> "cursor", "nextCursorHeader" -> "X-Next"),
      Seq(page("", 0 until 2)),
      Nil,
      "CONTINUATION_MISSING",
      "the header X-Next"),
    (
      "an absent link of a first page is no end",
      link,
      Seq(page("", 0 until 2, "", linked("<u>; rel=self"))),
      Nil,
      "CONTINUATION_MISSING",
      "the header Link with rel=next"),
    (
      "an absent flag and an absent cursor are no end",
      flagged,
      Seq(page("", 0 until 2)),
      Nil,
      "CONTINUATION_MISSING",
      "'/next'"),
    (
      "a cursor without a flag is a contradiction",
      flagged,
      Seq(page("", 0 until 2, next("a"))),
      Nil,
      "PAGINATION_MISMATCH",
      "but no flag at '/more'"),
    (
      "a flag that announces a page without a cursor is a contradiction",
      flagged,
      Seq(
        page("", 0 until 2, ""","next":"a","more":true"""),
        page("cursor=a", 0 until 2, ""","next":null,"more":true""")),
      Seq(2),
      "PAGINATION_MISMATCH",
      "asked for the records after the cursor 'a' (http://h/c?cursor=a), it returned 2 records, 'true' at '/more'"),
    (
      "another value than a flag is refused",
      flagged,
      Seq(page("", 0 until 2, ""","next":"a","more":"soon"""")),
      Nil,
      "PAGINATION_MISMATCH",
      "'soon' at '/more', which is no flag"),
    (
      "a page with records that names itself is a loop",
      cursor,
      Seq(page("", 0 until 2, next("a")), page("cursor=a", 2 until 4, next("a"))),
      Seq(2),
      "PAGINATION_LOOP",
      "has 2 new records and names itself"),
    (
      "endOfList=repeated: the records of the page before are a loop",
      cursor :+ ("endOfList" -> "repeated"),
      Seq(page("", 0 until 2, next("a")), page("cursor=a", 0 until 2, next("a"))),
      Seq(2),
      "PAGINATION_LOOP",
      "names itself"),
    (
      "a page that leads back is a loop",
      cursor,
      Seq(
        page("", 0 until 2, next("a")),
        page("cursor=a", 2 until 4, next("b")),
        page("cursor=b", 4 until 6, next("a"))),
      Seq(2, 2),
      "PAGINATION_LOOP",
      "names the records after the cursor 'a' (http://h/c?cursor=a) as the page after it"),
    (
      "pages without records are limited",
      cursor,
      ('a' to 'e').map(c => page(if (c == 'a') "" else s"cursor=$c", 0 until 0, next(s"${(c + 1).toChar}"))),
      Seq(0, 0, 0),
      "TOO_MANY_EMPTY_PAGES",
      "4"),
    (
      "pages are limited",
      cursor :+ ("maxPages" -> "1"),
      Seq(page("", 0 until 2, next("a"))),
      Seq(2),
      "TOO_MANY_PAGES",
      "more than 1 page"),
    (
      "null in place of records is refused, if a next page is named",
      cursor,
      Seq(Reply("", """{"d":null,"next":"a"}""")),
      Nil,
      "RECORDS_NOT_FOUND",
      "at '/d': null, although"),
    (
      "keyset: a page that begins with the excluded key is refused",
      keyset,
      Seq(page("", 0 until 2), page("cursor=1", 1 until 3)),
      Seq(2),
      "PAGINATION_MISMATCH",
      "the first of them with the key '1' that the request excludes"),
    (
      "keyset: a record without a key is refused",
      Seq("pagination" -> "keyset", "keyField" -> "/no"),
      Seq(page("", 0 until 2)),
      Nil,
      "PAGINATION_MISMATCH",
      "the last of them with no value at '/no'"),
    (
      "next-url: another server is not followed",
      nextUrl,
      Seq(page("", 0 until 2, next("http://evil/c?p=2"))),
      Nil,
      "LINK_REFUSED",
      "http://evil/c"),
    (
      "window: the same page for every request is refused",
      windows ++ Seq("windowPagination" -> "offset", "pageSize" -> "2"),
      Seq(0, 2, 1 << 30).map(n => page(window(0, s"&_start=$n&_limit=2"), 0 until 2)),
      Seq(2),
      "PAGINATION_MISMATCH",
      "the same page for every request"),
    (
      "window: a page without records that states a greater total is no end",
      windows ++ Seq("windowPagination" -> "page", "pageSize" -> "2"),
      Seq(
        page(window(0, "&page=1&per_page=2"), 0 until 2, ""","total":5"""),
        page(window(0, "&page=2&per_page=2"), 0 until 0, ""","total":5""")),
      Seq(2),
      "PAGINATION_MISMATCH",
      "0 records, and says at '/total' that there are 5 in all"),
    (
      "graphql: null in place of the nodes of a page that has a next one is refused",
      Seq(
        "pagination" -> "graphql",
        "records" -> "/data/r/nodes",
        "connection" -> "/data/r",
        "query" -> "query($after: String) {r(after: $after) {nodes {id} pageInfo {hasNextPage endCursor}}}"),
      Seq(
        Reply(
          """{"query":"query($after: String) {r(after: $after) {nodes {id} pageInfo {hasNextPage endCursor}}}","variables":{"after":null}}""",
          """{"data":{"r":{"nodes":null,"pageInfo":{"hasNextPage":true,"endCursor":"b"}}}}""")),
      Nil,
      "RECORDS_NOT_FOUND",
      "at '/data/r/nodes': null, although"),
    (
      "offset: a short page before others is the server's size",
      offset,
      Seq(page("_start=0&_limit=2", 0 until 1), page("_start=1&_limit=2", 1 until 2)),
      Nil,
      "PAGINATION_MISMATCH",
      "1 record, after a page with only 1 record"),
    (
      "offset: more records than requested are refused",
      offset,
      Seq(page("_start=0&_limit=2", 0 until 3)),
      Nil,
      "PAGINATION_MISMATCH",
      "more records than requested"),
    (
      "offset: a response that lacks its total is refused",
      offset :+ ("totalCount" -> "/total"),
      Seq(page("_start=0&_limit=2", 0 until 2)),
      Nil,
      "PAGINATION_MISMATCH",
      "does not say at '/total' how many"),
    (
      "offset: an empty page before the total is no end",
      offset :+ ("totalCount" -> "/total"),
      Seq(page("_start=0&_limit=2", 0 until 0, ""","total":3""")),
      Nil,
      "PAGINATION_MISMATCH",
      "says at '/total' that there are 3 in all"),
    (
      "page: a refused page of a list that goes further is no end",
      Seq("pagination" -> "page", "pageSize" -> "3"),
      Seq(
        page("page=1&per_page=3", 0 until 3),
        Reply("page=2&per_page=3", "404"),
        page("page=2&per_page=2", 2 until 4)),
      Seq(3),
      "PAGE_REFUSED",
      "404"),
    (
      "none: a response that names a next page is not the whole list",
      Nil,
      Seq(page("", 0 until 5, next("http://h/c?page=2"))),
      Nil,
      "LIST_INCOMPLETE",
      "names a next page at '/next'")
  )

  refusals.foreach { case (name, options, replies, records, condition, message) =>
    test(name) {
      val (delivered, end) = script(options: _*)(replies: _*).follow()
      val error = end.left.getOrElse(fail(s"it ended after $delivered"))
      assert(delivered == records)
      assert(error.condition.name == condition && error.getMessage.contains(message), error.getMessage)
    }
  }

  test("the records of a last page that has grown are delivered, and its next page is followed") {
    val replies = Seq(
      page("", 0 until 2, ""","next":null"""),
      page("", 0 until 3, next("a")),
      page("cursor=a", 0 until 1, ""","next":null"""))
    val list = script(cursor: _*)(replies: _*)
    val (first, end) = list.follow()
    assert(first == Seq(2) && list.follow(end.toOption.get)._1 == Seq(1, 1))
  }

  test("a last page that has become shorter misses the difference") {
    val list = script(cursor: _*)(page("", 0 until 2, ""","next":null"""))
    val state = ChainState(NextPage(None, 5))
    assert(list.follow(state)._2.map(_.next.taken) == Right(5))
  }

  private val etag = Seq("ETag" -> "v1")

  test("the last page is requested again on a condition; unchanged, it delivers nothing") {
    val list = script(cursor: _*)(page("", 0 until 2, ""","next":null""", etag), Reply("", "304"))
    val end = list.follow()._2.toOption.get
    assert(list.follow(end) == ((Seq(0), Right(end.copy(pages = 1)))))
    assert(list.requests == Seq("", " unless v1"))
  }

  test("where a header names the next page, every sixteenth poll is unconditional") {
    val list = script(link: _*)(page("", 0 until 2, "", etag ++ linked("<u>; rel=first")), Reply("", "304"))
    val end = list.follow()._2.toOption.get
    Iterator.iterate(end)(state => list.follow(state)._2.toOption.get).drop(20).next(): Unit
    assert(list.requests.zipWithIndex.collect { case ("", poll) => poll } == Seq(0, 16))
  }

  test("a next page that only the header of a 304 names is requested") {
    val next = linked("</c?p=2>; rel=next")
    val list = script(link: _*)(
      page("", 0 until 2, "", etag ++ linked("<u>; rel=first")),
      Reply("", "304", next),
      page("", 0 until 2, "", etag ++ next),
      page("p=2", 2 until 3, "", linked("<u>; rel=first")))
    val end = list.follow()._2.toOption.get
    assert(list.follow(end)._1 == Seq(0, 1))
    assert(list.requests == Seq("", " unless v1", "", "p=2"))
  }

  test("a validator of an earlier run is sent") {
    val list = script(cursor: _*)(Reply("cursor=a", "304"))
    val state = ChainState(NextPage(Some("a"), 2), atEnd = true, validator = Some(Validator("If-None-Match", "v1")))
    assert(list.follow(state)._1 == Seq(0) && list.requests == Seq("cursor=a unless v1"))
  }

  test("a page size is proven once") {
    val list = script(offset: _*)(page("_start=0&_limit=2", 0 until 1), page("_start=1&_limit=2", 0 until 0))
    val end = list.follow()._2.toOption.get
    assert(end.provenSize == 1 && list.follow(end)._1 == Seq(0))
    assert(list.requests == Seq("_start=0&_limit=2", "_start=1&_limit=2", "_start=0&_limit=2"))
  }
}
