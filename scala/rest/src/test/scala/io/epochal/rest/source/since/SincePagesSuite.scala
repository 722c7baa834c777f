package io.epochal.rest.source.since

import org.scalatest.funsuite.AnyFunSuite

/** Records that change: where a pass ends. */
final class SincePagesSuite extends AnyFunSuite with SinceFixture {

  private def zero(ids: Int*): Seq[(Int, Int)] = ids.map(_ -> 0)

  test("link: a later poll may have a single page without a link, also after a restart; the first one may not") {
    query("link", "endOfList" -> "proven") { query =>
      query.change(0, 0 until 10: _*)
      assert(query.batch().sorted == zero(0 until 10: _*))
      query.change(1, 3)
      assert(query.batch() == Seq(3 -> 1) && query.batch().isEmpty)
      query.restart()
      query.change(2, 4)
      assert(query.batch() == Seq(4 -> 2))
    }
    query("link", "endOfList" -> "proven") { query =>
      query.change(0, 1)
      assert(failure(query.batch()).condition.name == "CONTINUATION_MISSING")
    }
  }

  Seq("offset", "page").foreach { kind =>
    test(s"$kind: with a total, a pass ends with the page of the last record; without the total in a page, it fails") {
      query(kind, "totalCount" -> "/n") { query =>
        query.api.totals = true
        query.change(0, 0 until 6: _*)
        assert(query.batch().sorted == zero(0 until 6: _*))
        assert(query.api.requests().size == 2)
        query.change(1, 3)
        assert(query.batch() == Seq(3 -> 1) && query.batch().isEmpty)
        query.change(2, 0 until 5: _*)
        assert(query.batch().sorted == (0 until 5).map(_ -> 2))
        query.api.totals = false
        query.change(3, 1)
        val error = failure(query.batch())
        assert(error.condition.name == "PAGINATION_MISMATCH" && error.getMessage.contains("does not say at '/n'"))
      }
    }

    test(s"$kind: an empty page before the total is an error, and no end") {
      query(kind, "totalCount" -> "/n") { query =>
        query.api.totals = true
        query.api.lost = true
        query.change(0, 0 until 6: _*)
        val error = failure(query.batch())
        assert(error.condition.name == "PAGINATION_MISMATCH" && error.getMessage.contains("at '/n' that there are 6"))
        query.api.lost = false
        assert(query.batch().sorted == zero(0 until 6: _*))
      }
    }
  }
}
