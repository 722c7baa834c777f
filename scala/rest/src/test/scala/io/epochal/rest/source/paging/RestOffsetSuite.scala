package io.epochal.rest.source.paging

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.journal.Segment
import io.epochal.rest.source._

final class RestOffsetSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val source = "http://127.0.0.1:8080/comments (offset)"

  // Written by release 0.1.0; must stay readable.
  private val frozen =
    """{"v":1,"format":"epochal-rest","source":"http://127.0.0.1:8080/comments (offset)","records":1000}"""
  private val chained =
    """{"v":2,"format":"epochal-rest","source":"http://127.0.0.1:8080/comments (cursor)","records":150,"segments":[""" +
      """{"name":"0000000000000000100-0123456789abcdef0123456789abcdef-1.seg","from":100,"until":200,"index":4711,"bytes":4843,""" +
      """"crc":"0badcafe"}],"next":{"token":"a\"b","taken":3}}"""
  private val copied =
    """{"v":2,"format":"epochal-rest","source":"http://127.0.0.1:8080/comments (offset)","records":7,"segments":[]}"""

  private val again =
    """{"v":3,"format":"epochal-rest","source":"http://127.0.0.1:8080/comments (offset)","records":12,"crawl":2}"""
  private val fanned =
    """{"v":3,"format":"epochal-rest","source":"http://127.0.0.1:8080/%7Brepo%7D (link)","records":157,"members":[""" +
      """{"params":{"repo":"a"},"records":150,"segments":[""" +
      """{"name":"0000000000000000100-0123456789abcdef0123456789abcdef-1.seg","from":100,"until":200,"index":4711,"bytes":4843,""" +
      """"crc":"0badcafe"}],"next":{"token":"/a?page=3","taken":3}},{"params":{"repo":"b"},"records":7,"segments":[]}]}"""

  private val segment =
    Segment("0000000000000000100-0123456789abcdef0123456789abcdef-1.seg", 100, 200, 4711, 4843, 0x0badcafe)

  private def shouldBe(text: String, owner: String, position: RestPosition): Unit = {
    assert(RestOffset.fromJson(owner, text).contains(position))
    assert(RestOffset.toJson(owner, position) == text)
    ()
  }

  test("the offsets of release 0.1.0 are read, and written unchanged") {
    shouldBe(frozen, source, RestPosition.Planned(1000))
    val next = NextPage(Some("a\"b"), 3)
    shouldBe(chained, source.replace("offset", "cursor"), RestPosition.Journalled(150, Seq(segment), Some(next)))
    shouldBe(copied, source, RestPosition.Journalled(7, Nil))
    shouldBe(again, source, RestPosition.Planned(12, crawl = 2))
  }

  test("an offset with marks is read, and written unchanged") {
    val marks = Seq(Mark(3, "0123456789abcdef", ""), Mark(11, "fedcba9876543210", "/id"))
    val text = """{"v":4,"format":"epochal-rest","source":"http://127.0.0.1:8080/comments (offset)","records":12,""" +
      """"marks":[{"record":3,"digest":"0123456789abcdef"},{"record":11,"digest":"fedcba9876543210","of":"/id"}]}"""
    shouldBe(text, source, RestPosition.Planned(12, marks = marks))
    val member = Map("repo" -> "a")
    val fanned = RestPosition.FannedOut(Map(member -> RestPosition.Planned(12, marks = marks)))
    assert(RestOffset.fromJson("s", RestOffset.toJson("s", fanned)).contains(fanned))
  }

  test("an offset with members is read, and written unchanged") {
    val (a, b) = (Map("repo" -> "a"), Map("repo" -> "b"))
    val followed = RestPosition.Journalled(150, Seq(segment), Some(NextPage(Some("/a?page=3"), 3)))
    val lists = RestPosition.FannedOut(Map(b -> RestPosition.Journalled(7, Nil), a -> followed))
    val owner = "http://127.0.0.1:8080/%7Brepo%7D (link)"
    shouldBe(fanned, owner, lists)
    Seq(
      "\"records\":157" -> "\"records\":158",
      "\"repo\":\"b\"" -> "\"repo\":\"a\"",
      "{\"repo\":\"b\"}" -> "5",
      "\"members\":[" -> "\"members\":[5,").foreach { case (from, to) =>
      assert(RestOffset.fromJson(owner, fanned.replace(from, to)).left.exists(_.condition.name == "OFFSET_INVALID"), to)
    }
  }

  private val segments: Gen[Seq[Segment]] = for {
    from <- Gen.choose(0L, 1L << 40)
    sizes <- Gen.listOf(Gen.choose(1L, 1L << 30))
    crc <- Gen.choose(Int.MinValue, Int.MaxValue)
  } yield sizes.scanLeft(from)(_ + _).zip(sizes).zipWithIndex.map { case ((at, size), i) =>
    Segment(Segment.name(at, "0123456789abcdef" * 2, i), at, at + size, size, size + 1, crc)
  }

  test("an offset survives its JSON, which is deterministic") {
    val next =
      Gen.option(Gen.zip(Gen.option(Gen.asciiPrintableStr), Gen.choose(0L, 1000L)).map((NextPage.apply _).tupled))
    val journal = Gen.option(Gen.zip(segments, next))
    forAll(Gen.choose(0L, Long.MaxValue), journal) { (n, pages) =>
      val position = pages.fold[RestPosition](RestPosition.Planned(n)) { case (segments, page) =>
        RestPosition.Journalled(n, segments, page)
      }
      val json = RestOffset.toJson(source, position)
      assert(RestOffset.fromJson(source, json).contains(position))
      assert(json.contains("\"v\":2") == pages.isDefined)
    }
  }

  test("another source, a later version, and other texts are refused by name") {
    def refusal(json: String, of: String = source): String =
      RestOffset.fromJson(of, json).fold(_.condition.name, _.toString)
    assert(refusal(frozen.replace("(offset)", "(page)")) == "SOURCE_CHANGED")
    assert(refusal(frozen.replace("\"v\":1", "\"v\":6")) == "OFFSET_VERSION_UNSUPPORTED")
    Seq("1000" -> "-1", "1000" -> "1.5", "1000" -> "\"1\"", "\"records\"" -> "\"rows\"", "\"v\":1" -> "\"v\":2")
      .foreach { case (from, to) =>
        assert(refusal(frozen.replace(from, to)) == "OFFSET_INVALID", to)
      }
    Seq(
      "\"segments\":[" -> "\"segments\":5,\"x\":[",
      "\"name\":\"0" -> "\"name\":\"../0",
      "0badcafe" -> "bad",
      "\"until\":200" -> "\"until\":99",
      "\"token\":\"a\\\"b\"" -> "\"token\":5",
      "\"taken\":3" -> "\"taken\":-3").foreach { case (from, to) =>
      assert(chained.contains(from))
      assert(refusal(chained.replace(from, to), source.replace("offset", "cursor")) == "OFFSET_INVALID", to)
    }
  }
}
