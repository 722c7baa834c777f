package io.epochal.rest.source.supply

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.rest.source._

final class FairShareSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val cases = for {
    backlogs <- Gen.nonEmptyListOf(Gen.frequency(1 -> Gen.const(0L), 3 -> Gen.choose(1L, 50L)))
    total <- Gen.choose(0L, backlogs.sum)
    first <- Gen.choose(0, backlogs.size - 1)
  } yield (backlogs.toIndexedSeq, total, first)

  test("shares add up to the total, none exceeds its backlog, and only a smaller backlog has a smaller share") {
    forAll(cases) { case (backlogs, total, first) =>
      val shares = FairShare.of(total, backlogs, first)
      assert(shares.sum == total)
      assert(shares.zip(backlogs).forall { case (share, backlog) => share >= 0 && share <= backlog })
      val cut = shares.zip(backlogs).collect { case (share, backlog) if share < backlog => share }
      assert(cut.isEmpty || shares.max - cut.min <= 1)
    }
  }

  test("with fewer rows than backlogs, all get their turn as the start advances by the rows taken") {
    forAll(Gen.choose(1, 20), Gen.choose(1L, 7L)) { (members, total) =>
      val backlogs = (1 to members).map(_ * 1000L)
      val taken = math.min(total, members.toLong)
      val turns = (0 until members).map(turn => FairShare.of(taken, backlogs, (turn * taken % members).toInt))
      assert(turns.transpose.forall(_.sum > 0))
    }
  }
}
