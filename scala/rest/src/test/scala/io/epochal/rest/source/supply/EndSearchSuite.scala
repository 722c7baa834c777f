package io.epochal.rest.source.supply

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.Extent
import io.epochal.rest.http.Refusal
import io.epochal.rest.source.Pagination.{ByOffset, ByPage, Whole}
import io.epochal.rest.source._

/** The search for a list's end, against a model that knows it. */
final class EndSearchSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  import SearchedList.refused

  private def search(pagination: Pagination, respond: PageRequest => PageFacts, byTotal: Boolean = false) =
    new SearchedList(pagination, respond, byTotal)

  final private class Model(val pagination: Pagination, var records: Long, cap: Long = Long.MaxValue) {
    val requests = mutable.Buffer.empty[PageRequest]

    val finder = search(
      pagination,
      request => {
        requests += request
        val first = pagination match {
          case ByPage(_, _, _, size) => request.first / size * math.min(size, cap)
          case _                     => request.first
        }
        PageFacts(math.min(math.min(request.size, cap), math.max(0L, records - first)), content = first)
      }
    )

    def find(start: Long, most: Long = Long.MaxValue): Extent = {
      requests.clear()
      finder.find(start, most)
    }
  }

  private val paginations: Gen[Pagination] =
    Gen.choose(1L, 30L).flatMap(n => Gen.oneOf[Pagination](ByOffset("o", "l", n), ByPage("p", "n", 1, n), Whole))
  private val counts = Gen.frequency(1 -> Gen.const(0L), 4 -> Gen.choose(0L, 100L), 4 -> Gen.choose(0L, 100000L))
  private val limits = Gen.frequency(1 -> Gen.const(Long.MaxValue), 4 -> Gen.choose(1L, 2000L))

  test("it finds existing records only, and all of them up to the limit, through any growth") {
    forAll(paginations, counts, Gen.listOf(Gen.zip(Gen.choose(0L, 300L), limits)), minSuccessful(500)) {
      (pagination, records, steps) =>
        val model = new Model(pagination, records)
        steps.foldLeft(0L) { case (start, (growth, most)) =>
          model.records += growth
          val found = model.find(start, most)
          val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
          assert(found.exists <= model.records && found.exists >= math.min(model.records, target))
          if (found.exact) assert(found.ends == model.records)
          math.min(found.exists, target)
        }
    }
  }

  test("an API that lost records is detected, with the remaining number") {
    forAll(paginations, Gen.choose(1L, 20000L), Gen.choose(0.0, 0.99), limits) { (pagination, records, part, most) =>
      val model = new Model(pagination, records)
      model.records = (records * part).toLong
      assert(model.find(records, most) == Extent(model.records, model.records))
    }
  }

  /** A server that refuses pages past the end of its list, and pages that end after `reach`. */
  final private class Refusing(pagination: Pagination, records: Long, reach: Long, total: Option[Long] = None) {
    var requests = 0
    val finder: SearchedList = search(
      pagination,
      request => {
        requests += 1
        if (request.first > 0 && (request.first >= records || request.end > reach))
          PageFacts(0, refusal = Some(Refusal(404, "no")))
        else
          PageFacts(math.min(request.size, records - request.first), content = request.first, totals = total.toSeq)
      }
    )
  }

  private def counted(size: Long) = Gen.oneOf[Pagination](ByOffset("o", "l", size), ByPage("p", "n", 1, size))

  test("a list whose server refuses pages past its end is found, wherever it ends") {
    forAll(Gen.choose(1L, 30L), Gen.choose(1L, 2000L), limits) { (size, records, most) =>
      forAll(counted(size), minSuccessful(2)) { pagination =>
        val found = new Refusing(pagination, records, Long.MaxValue).finder.find(0, most)
        assert(found.exists >= math.min(records, most) && found.exists <= records)
        assert(!found.exact || found.ends == records)
      }
    }
  }

  test("a server that refuses the pages of existing records is never taken for one whose list ends there") {
    forAll(Gen.choose(1L, 30L), Gen.choose(1L, 60L), Gen.choose(1L, 1000L)) { (size, pages, more) =>
      forAll(counted(size), minSuccessful(2)) { pagination =>
        val reach = pages * size
        val text = refused(new Refusing(pagination, reach + more, reach).finder.find(0, Long.MaxValue))
        assert(text.endsWith(s"from record $reach on, counted from 0: status 404"))
        refused(new Refusing(pagination, reach + more, reach).finder.find(reach, 10))
      }
    }
  }

  test("a refused page is past the end if a total says so, where no request can prove it") {
    val pages = ByPage("p", "n", 1, 10)
    val bodies: PageRequest => PageFacts = request =>
      if (request.first / request.size >= 3) PageFacts(0, refusal = Some(Refusal(404, "")))
      else PageFacts(10, totals = Seq(30))
    assert(
      search(
        pages,
        request => if (request.size == 10) bodies(request) else PageFacts(0, refusal = Some(Refusal(404, ""))))
        .find(30, 100) == Extent(30, 30))
    refused(new Refusing(pages, 90, 30, total = Some(90)).finder.find(30, 100))
  }

  test(
    "an error in response to a request that only proves the end is no proof, and no failure unless it is transient") {
    def end(status: Int, totals: Seq[Long]) = search(
      ByPage("p", "n", 1, 10),
      request =>
        if (request.size != 10)
          throw Conditions.HttpStatus("url" -> "", "status" -> status, "attempts" -> 1, "body" -> "", "advice" -> "")
        else if (request.first >= 30) PageFacts(0, refusal = Some(Refusal(404, "")))
        else PageFacts(10, totals = totals)
    ).find(30, 100)
    Seq(403, 422).foreach { status =>
      assert(end(status, Seq(30)) == Extent(30, 30))
      assert(refused(end(status, Nil)).contains("from record 30 on"))
    }
    Seq(401, 503).foreach(status =>
      assert(intercept[EpochalException](end(status, Nil)).values("status") == s"$status"))
  }

  test("an idle API that refuses pages past the end costs one request per poll, and its end is proven again") {
    Seq[Pagination](ByOffset("o", "l", 100), ByPage("p", "n", 1, 100)).foreach { pagination =>
      val model = new Refusing(pagination, 300, Long.MaxValue)
      model.finder.find(0, Long.MaxValue)
      val requests = (1 to 34).map { _ => model.requests = 0; model.finder.find(300, 1000); model.requests }
      assert(requests.count(_ == 2) == 3 && requests.forall(_ <= 2), requests)
    }
  }

  test("an idle API costs one request per poll") {
    Seq[Pagination](ByOffset("o", "l", 100), ByPage("p", "n", 1, 100), Whole).foreach { pagination =>
      Seq(0L, 7L, 100L, 250L, 300L).foreach { records =>
        val model = new Model(pagination, records)
        model.find(records, 1000)
        val requests = (1 to 15).map { _ => model.find(records, 1000); model.requests.size }
        assert(requests.forall(_ == 1), s"$pagination with $records")
      }
    }
  }

  test("records that vanish from an idle API are detected within sixteen polls, at any page boundary") {
    Seq[Pagination](ByOffset("o", "l", 10), ByPage("p", "n", 1, 10), Whole).foreach { pagination =>
      val model = new Model(pagination, 20)
      assert(model.find(20).ends == 20)
      model.records = 15
      assert((1 to 16).exists(_ => model.find(20).ends == 15), pagination)
    }
  }

  test("full batches cost one request each, for the page of the last record") {
    val model = new Model(ByOffset("o", "l", 100), 10000000)
    model.find(0, 50000)
    (1 to 20).foreach { batch =>
      assert(model.find(batch * 50000L, 50000).exists >= (batch + 1) * 50000L)
      assert(
        model.requests.toSeq == Seq(
          PageRequest(s"o=${(batch + 1) * 50000 - 100}&l=100", (batch + 1) * 50000L - 100, 100)))
    }
  }

  test("a long backlog takes about as many requests as its number of pages has digits") {
    Seq[Pagination](ByOffset("o", "l", 100), ByPage("p", "n", 1, 100)).foreach { pagination =>
      Seq(1000L, 123456L, 9999999L, 1L << 40).foreach { records =>
        val model = new Model(pagination, records)
        assert(model.find(0).exists == records)
        val bits = 64 - java.lang.Long.numberOfLeadingZeros(records / 100)
        assert(model.requests.size <= bits + bits / 3 + 8, s"$pagination with $records")
      }
    }
  }

  test("nothing is requested beyond the limit") {
    forAll(Gen.choose(1L, 50L), counts, Gen.choose(1L, 3000L)) { (size, records, most) =>
      val model = new Model(ByOffset("o", "l", size), records)
      model.find(0, most)
      // One more page distinguishes a short page from the last one, once.
      assert(model.requests.forall(_.first <= math.max(most - 1, records)))
    }
  }

  test("a server with smaller pages than requested is refused, and not taken for an API that ends") {
    Seq[Pagination](ByOffset("o", "l", 100), ByPage("p", "n", 1, 100)).foreach { pagination =>
      val text = refused(new Model(pagination, 1000, cap = 30).find(0, 500))
      assert(text.contains(" for 100 records from record ") && text.endsWith(": 30 records, and has more after them"))
    }
  }

  test("a server whose pages begin at multiples of their size is not taken for a server with small pages") {
    var records = 130L
    var requests = 0
    val finder = search(
      ByOffset("o", "l", 100),
      request => {
        requests += 1
        val page = request.first / 100
        PageFacts(math.min(100L, math.max(0L, records - page * 100)), content = page)
      })
    assert(finder.find(0, Long.MaxValue) == Extent(130, 130))
    records = 131
    requests = 0
    assert(finder.find(130, Long.MaxValue) == Extent(131, 131) && requests == 3)
  }

  test("a server that returns more than requested is refused") {
    val finder = search(ByOffset("o", "l", 100), _ => PageFacts(500))
    assert(
      refused(finder.find(0, 1000))
        .contains("for 100 records from record 0 on, counted from 0: 500 records"))
  }

  test("a server that returns full pages forever is refused, after a few requests") {
    var requests = 0
    val finder =
      search(ByOffset("o", "l", 100), request => { requests += 1; PageFacts(request.size) })
    assert(
      refused(finder.find(0, Long.MaxValue))
        .contains("it ignores the parameter 'o'"))
    assert(requests < 30)
  }

  test("an API that grows between two requests is not taken for one with small pages") {
    var records = 30L
    val finder = search(
      ByOffset("o", "l", 100),
      request => {
        val count = math.min(request.size, math.max(0L, records - request.first))
        records += 5
        PageFacts(count, content = request.first)
      })
    assert(finder.find(0, Long.MaxValue).exists >= 30)
  }

  test("a total in the response is the end, by one request for the page of the last record delivered") {
    forAll(Gen.choose(1L, 30L), Gen.listOf(Gen.choose(0L, 90L))) { (size, growth) =>
      var records = 0L
      val requests = mutable.Buffer.empty[PageRequest]
      val totals = search(
        ByOffset("o", "l", size),
        request => {
          requests += request
          PageFacts(math.min(request.size, math.max(0L, records - request.first)), Some(records))
        },
        byTotal = true)
      growth.foldLeft(0L) { (start, more) =>
        records += more
        requests.clear()
        assert(totals.find(start, Long.MaxValue) == Extent(records, records))
        assert(requests.head.first == math.max(0L, start - 1) / size * size && requests.size <= 2)
        records
      }: Unit
    }
  }

  test("a total below the number of records is refused by the first search, wherever it ends") {
    forAll(Gen.choose(1L, 30L), Gen.choose(0L, 200L), Gen.choose(1L, 100L)) { (size, total, more) =>
      forAll(counted(size), minSuccessful(2)) { pagination =>
        def page(request: PageRequest) =
          PageFacts(math.min(request.size, math.max(0L, total + more - request.first)), Some(total))
        val finder = search(pagination, page, byTotal = true)
        val text = refused(finder.find(0, Long.MaxValue))
        assert(text.endsWith(s" and says that there are $total in all"))
      }
    }
  }

  test("a total that does not fit its page, even on a second request, is refused") {
    var requests = 0
    val totals =
      search(ByOffset("o", "l", 10), request => { requests += 1; PageFacts(request.size, Some(5)) }, byTotal = true)
    assert(refused(totals.find(0, 100)).contains("that there are 5 in all"))
    assert(requests == 2)
  }
}
