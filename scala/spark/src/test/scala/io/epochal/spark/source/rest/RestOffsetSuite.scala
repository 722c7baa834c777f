package io.epochal.spark.source.rest

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

final class RestOffsetSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val source = "http://127.0.0.1:8080/comments (offset)"

  // What release 0.1.0 wrote. It is read for ever.
  private val frozen =
    """{"v":1,"format":"epochal-rest","source":"http://127.0.0.1:8080/comments (offset)","records":1000}"""

  test("the offset of release 0.1.0 is read, and written as it was") {
    assert(RestOffset.fromJson(source, frozen).contains(RestPosition(1000)))
    assert(RestOffset(source, RestPosition(1000)).json == frozen)
  }

  test("an offset comes back from its JSON") {
    forAll(Gen.choose(0L, Long.MaxValue)) { n =>
      assert(RestOffset.fromJson(source, RestOffset.toJson(source, RestPosition(n))).contains(RestPosition(n)))
    }
  }

  test("another source, a later version, and what is no offset are refused by name") {
    def refusal(json: String): String = RestOffset.fromJson(source, json).fold(_.condition.name, _.toString)
    assert(refusal(frozen.replace("(offset)", "(page)")) == "OFFSET_SOURCE_CHANGED")
    assert(refusal(frozen.replace("\"v\":1", "\"v\":2")) == "OFFSET_VERSION")
    Seq("1000" -> "-1", "1000" -> "1.5", "1000" -> "\"1\"", "\"records\"" -> "\"rows\"").foreach { case (from, to) =>
      assert(refusal(frozen.replace(from, to)) == "OFFSET_INVALID", to)
    }
  }
}
