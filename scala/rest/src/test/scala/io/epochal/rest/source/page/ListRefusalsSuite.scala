package io.epochal.rest.source.page

import org.scalatest.funsuite.AnyFunSuite

/** Responses that each pagination refuses, without a server. */
final class ListRefusalsSuite extends AnyFunSuite with ChainScript {

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
      "and says at '/total' that there are 3 in all"),
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
}
