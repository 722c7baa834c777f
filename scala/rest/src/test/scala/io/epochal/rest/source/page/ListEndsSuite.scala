package io.epochal.rest.source.page

import org.scalatest.funsuite.AnyFunSuite

/** Where the lists of each pagination end, without a server. */
final class ListEndsSuite extends AnyFunSuite with ChainScript {

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
}
