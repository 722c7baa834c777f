package io.epochal.rest.http

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

final class HttpBudgetSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  test("the shares of all tasks add up to the budget, and each task can send a request") {
    forAll(Gen.choose(1, 50), Gen.choose(1, 50), Gen.choose(0.1, 1000.0)) { (wanted, concurrency, rate) =>
      val budget = HttpBudget(Some(rate), Some(concurrency))
      val tasks = budget.tasks(wanted)
      val shares = budget.shares(tasks)
      assert(tasks <= wanted && shares.size == tasks)
      assert(shares.flatMap(_.maxConcurrency).sum == concurrency && shares.flatMap(_.maxConcurrency).forall(_ >= 1))
      assert(math.abs(shares.flatMap(_.requestsPerSecond).sum - rate) < 1e-6)
    }
  }

  test("without limits all wanted tasks run, and none has a limit") {
    assert(HttpBudget.Unlimited.tasks(7) == 7)
    assert(HttpBudget.Unlimited.shares(7) == Seq.fill(7)(HttpBudget(None, None)))
  }

  test("statuses match by number or by class") {
    val some = HttpStatuses.option.parse(" 404, 5XX").get
    assert(Seq(404, 500, 599).forall(some.contains) && !Seq(200, 400, 403, 429).exists(some.contains))
    assert(some.toString == "404,5xx")
    assert(!(300 to 599).exists(HttpStatuses.option.parse("none").get.contains))
    Seq("", "200", "2xx", "404;500", "404,", "600", "4x4").foreach(text =>
      assert(HttpStatuses.option.parse(text).isEmpty, text))
  }
}
