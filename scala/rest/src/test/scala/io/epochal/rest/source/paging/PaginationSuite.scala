package io.epochal.rest.source.paging

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.rest.source.Pagination.{ByOffset, ByPage, Whole}
import io.epochal.rest.source._

final class PaginationSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val paginations: Gen[Pagination] = for {
    size <- Gen.choose(1L, 50L)
    first <- Gen.choose(0L, 2L)
    kind <- Gen.oneOf[Pagination](ByOffset("_start", "_limit", size), ByPage("page", "per_page", first, size), Whole)
  } yield kind

  private val ranges: Gen[(Long, Long)] = for {
    from <- Gen.choose(0L, 500L)
    records <- Gen.choose(0L, 500L)
  } yield (from, from + records)

  /** The records returned by consecutive requests through a range. */
  private def read(pagination: Pagination, range: RecordRange): Seq[Long] =
    Iterator
      .unfold(range.from) { at =>
        Option.when(at < range.until) {
          val request = pagination.request(at)
          val end = math.min(request.end, range.until)
          assert(request.first <= at && end > at)
          (at until end, end)
        }
      }
      .flatten
      .toSeq

  test("a range is read with every record once and in order, on any number of tasks") {
    forAll(paginations, ranges, Gen.choose(1, 40)) { case (pagination, (from, until), tasks) =>
      val parts = pagination.split(from, until, tasks)
      assert(parts.size <= tasks)
      assert(parts.flatMap(read(pagination, _)) == (from until until))
      assert(pagination.split(from, until, tasks) == parts)
    }
  }

  test("no page is fetched by two tasks") {
    forAll(paginations, ranges, Gen.choose(1, 40)) { case (pagination, (from, until), tasks) =>
      val pages = pagination.split(from, until, tasks).flatMap { range =>
        read(pagination, range).map(pagination.request(_).query).distinct
      }
      assert(pages == pages.distinct)
    }
  }

  test("tasks share the pages evenly") {
    val sizes = ByOffset("o", "l", 100).split(50, 50050, 8).map(_.records)
    assert(sizes.sum == 50000 && sizes.max - sizes.min < 200)
  }

  test("by offset only whole pages are requested, from multiples of their size on") {
    forAll(Gen.choose(1L, 50L), ranges, Gen.choose(1, 40)) { case (size, (from, until), tasks) =>
      val pagination = ByOffset("o", "l", size)
      val pages = pagination.split(from, until, tasks).flatMap(read(pagination, _)).map(pagination.request).distinct
      assert(pages.forall(page => page.size == size && page.first % size == 0))
      assert(pages.size <= (until - from + size - 1) / size + 1)
    }
  }

  test("a probe shows the record before the start, or the page that begins there") {
    assert(ByOffset("o", "l", 10).probe(25) == PageRequest("o=20&l=10", 20, 10))
    assert(ByOffset("o", "l", 10).probe(21) == PageRequest("o=20&l=10", 20, 10))
    assert(ByOffset("o", "l", 10).probe(0) == PageRequest("o=0&l=10", 0, 10))
    assert(ByOffset("o", "l", 10).probe(30) == PageRequest("o=30&l=10", 30, 10))
    assert(ByPage("p", "n", 1, 10).probe(25) == PageRequest("p=3&n=10", 20, 10))
    assert(ByPage("p", "n", 1, 10).probe(30) == PageRequest("p=4&n=10", 30, 10))
  }

  test("names of parameters are encoded") {
    assert(ByOffset("page[offset]", "page[limit]", 5).request(13).query == "page%5Boffset%5D=10&page%5Blimit%5D=5")
  }

  test("positions near the largest number do not overflow") {
    val far = Long.MaxValue - 10
    Seq[Pagination](ByOffset("o", "l", 100), ByPage("p", "n", 1, 100), Whole).foreach { pagination =>
      assert(pagination.split(far, Long.MaxValue, 3).map(_.records).sum == 10)
      assert(pagination.request(far).end > far)
    }
  }
}
