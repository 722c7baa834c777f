package io.epochal.rest.source.page

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.http.Validator
import io.epochal.rest.source._

/** Polls of lists that were read to their end, without a server. */
final class ListPollsSuite extends AnyFunSuite with ChainScript {

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
    assert(list.follow(state)._2.map(_.next.deliveredCount) == Right(5))
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
