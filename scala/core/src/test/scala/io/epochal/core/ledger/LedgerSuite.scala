package io.epochal.core.ledger

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.{Condition, Conditions, EpochalException}

final class LedgerSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  import EpochDecision._
  import TriggerMode._

  private val target = Target("public.comments", Some(1L))
  private val server = ServerIdentity("server", Some(1L))
  private val digest = ContentDigest(10, 99)

  private def claim(
      query: String = "q",
      run: String = "run 1",
      on: OnNewQuery = OnNewQuery.Fail,
      table: Target = target
  ) =
    Claim("sink", query, run, table, server, on)

  private def claimed(row: Option[LedgerRow] = None, of: Claim = claim(), others: Seq[LedgerRow] = Nil): LedgerRow =
    Claim.decide(of, row, others).fold(throw _, identity)

  private def attempt(
      epoch: Long,
      generation: Long = 1,
      hash: Option[String] = Some("h"),
      of: ContentDigest = digest,
      query: String = "q") =
    EpochAttempt(query, epoch, generation, "run 1", MicroBatch, hash.map(_ + epoch), of)

  private def decide(
      what: EpochAttempt,
      row: LedgerRow,
      onEmpty: OnLedgerEmpty = OnLedgerEmpty.Fail,
      onMismatch: OnEpochMismatch = OnEpochMismatch.Fail,
      replaces: Boolean = false
  ) = EpochDecision.decide(what, row, onEmpty, onMismatch, replaces)

  private def accepting(ids: String*): OnNewQuery = OnNewQuery(ids.toSet)

  private def at(epoch: Long): LedgerRow = claimed().copy(last = Some(attempt(epoch).applied))

  private def refusal(result: Either[EpochalException, _]): Condition =
    result.left.map(_.condition).left.getOrElse(fail(s"was accepted: $result"))

  test("the first run of a sink gets generation 1, every later run the next") {
    val first = claimed()
    assert(first.generation == 1 && first.last.isEmpty)
    assert(claimed(Some(first), claim(run = "run 2")).generation == 2)
  }

  test("another query is rejected, or takes the sink over and starts without an epoch") {
    assert(refusal(Claim.decide(claim(query = "new"), Some(at(5)), Nil)) == Conditions.QueryChanged)
    assert(
      refusal(Claim.decide(claim(query = "new", on = accepting("p")), Some(at(5)), Nil)) == Conditions.QueryChanged)
    val taken = claimed(Some(at(5)), claim(query = "new", on = accepting("q")))
    assert(taken.queryId == "new" && taken.last.isEmpty && taken.generation == 2)
  }

  test("a query that returns after another took its sink over resumes where it was") {
    val before = at(5)
    val taken = claimed(Some(before), claim(query = "new", on = accepting("q")))
    val back = claimed(Some(taken), claim(on = accepting("new")).copy(known = Some(before)))
    assert(back.last == before.last && back.generation == 3)
    assert(decide(attempt(5, generation = 3), back) == Right(AlreadyApplied(false)))
  }

  test("a second sink on one target is rejected unless it is accepted") {
    val other = claimed().copy(sinkId = "other", queryId = "another query")
    assert(refusal(Claim.decide(claim(), None, Seq(other))) == Conditions.TargetShared)
    assert(claimed(of = claim(on = accepting("other")), others = Seq(other)).generation == 1)
  }

  test("a query that changes its sink id on one target is rejected, even if a second sink is accepted") {
    val before = claimed().copy(sinkId = "old name")
    Seq(OnNewQuery.Fail, accepting("old name", "q")).foreach { on =>
      assert(refusal(Claim.decide(claim(on = on), None, Seq(before))) == Conditions.TargetShared)
    }
  }

  test("a ledger that lost its row, and not the positions of stored rows, begins with an epoch that is accepted") {
    val stored = Progress(Seq(3L, 4L).map(Boundary(_, TriggerMode.RealTime, None, Map.empty)), Map.empty)
    Seq(OnLedgerEmpty.Fail, OnLedgerEmpty.Write(3), OnLedgerEmpty.Skip(6)).foreach { on =>
      val error = Claim.decide(claim().copy(stored = stored, onLedgerEmpty = on), None, Nil).left.toOption.get
      assert(error.condition == Conditions.LedgerEmpty && error.getMessage.contains("onLedgerEmpty=write:5"))
    }
    Seq(OnLedgerEmpty.Write(4), OnLedgerEmpty.Write(5)).foreach { on =>
      assert(claimed(of = claim().copy(stored = stored, onLedgerEmpty = on)).last.isEmpty)
    }
  }

  test("a claim that is retried is the same claim") {
    val first = claimed()
    assert(claimed(Some(first)) == first)
  }

  test("a run whose generation was assigned to another run after the ledger was set back is fenced") {
    val other = at(5).copy(runId = "run of another")
    assert(refusal(decide(attempt(6), other)) == Conditions.SinkFenced)
    assert(refusal(EpochDecision.landed(attempt(6), other)) == Conditions.SinkFenced)
  }

  test("a table that was dropped and recreated is another target") {
    val again = target.copy(oid = Some(2L))
    assert(refusal(Claim.decide(claim(table = again), Some(at(5)), Nil)) == Conditions.TargetChanged)
    val moved = claimed(Some(at(5)), claim(table = again, on = accepting("1")))
    assert(moved.target == again && moved.last == at(5).last)
    val third = claim(table = target.copy(oid = Some(3L)), on = accepting("1"))
    assert(refusal(Claim.decide(third, Some(moved), Nil)) == Conditions.TargetChanged)
  }

  test("a table that was recreated before anything was written is the target") {
    val again = target.copy(oid = Some(2L))
    assert(claimed(Some(claimed()), claim(table = again)).target == again)
    val stored = Progress(Seq(Boundary(0L, TriggerMode.RealTime, None, Map.empty)), Map.empty)
    assert(
      refusal(Claim.decide(claim(table = again).copy(stored = stored), Some(claimed()), Nil)) ==
        Conditions.TargetChanged)
    val other = claimed().copy(sinkId = "other", queryId = "another query", target = again)
    assert(refusal(Claim.decide(claim(table = again), Some(claimed()), Seq(other))) == Conditions.TargetShared)
    assert(claimed(Some(claimed()), claim(table = again, on = accepting("other")), Seq(other)).target == again)
    val moved = claim(table = Target("public.others", Some(2L)))
    assert(refusal(Claim.decide(moved, Some(claimed()), Nil)) == Conditions.TargetChanged)
  }

  test("another query on another target needs both to be accepted, and the error names both") {
    val new1 = claim(query = "new", table = target.copy(oid = Some(2L)))
    def refused(on: OnNewQuery) = Claim.decide(new1.copy(onNewQuery = on), Some(at(5)), Nil).left.map(_.getMessage)
    assert(refused(OnNewQuery.Fail).left.exists(_.contains("onNewQuery=append:q,1")))
    assert(refused(accepting("q")).left.exists(m => m.contains("TARGET_CHANGED") && m.contains("append:q,1")))
    assert(refused(accepting("1")).left.exists(_.contains("QUERY_CHANGED")))
    assert(claimed(Some(at(5)), new1.copy(onNewQuery = accepting("q", "1"))).last.isEmpty)
  }

  /** The claim of a query that replaces `row`'s. */
  private def replacing(row: LedgerRow, table: Target = target, known: Option[LedgerRow] = None) =
    Claim.decide(claim("new", on = OnNewQuery.Replace, table = table).copy(known = known), Some(row), Nil)

  test("a query that replaces another leaves the ledger unchanged until its first epoch, which empties the target") {
    val before = at(5).copy(runId = "run 0")
    val claimed = replacing(before)
    assert(claimed == Right(before.copy(generation = 2, runId = "run 1")))
    val row = claimed.toOption.get
    val first = attempt(0, generation = 2, query = "new")
    val next = row.copy(queryId = "new", last = Some(first.applied))
    assert(decide(first, row, replaces = true) == Right(Replace(next)))
    assert(decide(first, next, replaces = true) == Right(AlreadyApplied(false)))
    val second = attempt(1, generation = 2, query = "new")
    assert(decide(second, next, replaces = true) == Right(Apply(next.copy(last = Some(second.applied)))))
  }

  test("the replaced query resumes where it was if the new one has written nothing") {
    val row = replacing(at(5).copy(runId = "run 0")).toOption.get
    val back = claimed(Some(row), claim(run = "run 2", on = OnNewQuery.Replace))
    assert(back == at(5).copy(generation = 3, runId = "run 2"))
    assert(refusal(decide(attempt(0, generation = 2, query = "new"), back, replaces = true)) == Conditions.SinkFenced)
  }

  test("a query that was replaced, or is past its first epoch, replaces nothing: its first rows would be missing") {
    val before = at(5).copy(runId = "run 0")
    assert(refusal(replacing(before, known = Some(at(3)))) == Conditions.ReplacementIncomplete)
    assert(replacing(before, known = Some(at(3).copy(last = None))).isRight)
    val row = replacing(before).toOption.get
    val late = attempt(1, generation = 2, query = "new")
    assert(refusal(decide(late, row, replaces = true)) == Conditions.ReplacementIncomplete)
    assert(refusal(decide(late, row, OnLedgerEmpty.Write(1), replaces = true)) == Conditions.ReplacementIncomplete)
    assert(refusal(decide(late.copy(epoch = 0), row)) == Conditions.QueryChanged)
  }

  test("a replacement takes a table that was recreated under its name, and no other table") {
    val before = at(5).copy(runId = "run 0")
    assert(replacing(before, target.copy(oid = Some(2L))).map(_.target) == Right(target))
    assert(replacing(before, target.copy(name = "public.renamed")).isRight)
    assert(refusal(replacing(before, Target("public.other", Some(2L)))) == Conditions.TargetChanged)
  }

  test("a replacement does not empty a table that another sink writes to, too") {
    val other = claimed().copy(sinkId = "other", queryId = "another query")
    val new1 = claim(query = "new", on = OnNewQuery.Replace)
    Seq(Some(at(5)), Some(claimed()), None).foreach { row =>
      assert(refusal(Claim.decide(new1, row, Seq(other))) == Conditions.TargetShared)
    }
    assert(Claim.decide(new1.copy(queryId = "q"), Some(at(5)), Seq(other)).isRight)
  }

  test("the first epoch of the first query empties the target, too, and a later epoch does not") {
    val row = claimed(of = claim(on = OnNewQuery.Replace))
    val applied = row.copy(last = Some(attempt(0).applied))
    assert(decide(attempt(0), row, replaces = true) == Right(Replace(applied)))
    assert(decide(attempt(0), row, OnLedgerEmpty.Skip(0), replaces = true) == Right(Adopt(applied)))
    assert(refusal(decide(attempt(3), row, replaces = true)) == Conditions.LedgerEmpty)
    assert(decide(attempt(3), row, OnLedgerEmpty.Write(3), replaces = true).map(_.isInstanceOf[Apply]) == Right(true))
    val moved = claimed(Some(row), claim(on = OnNewQuery.Replace, table = target.copy(oid = Some(2L))))
    assert(moved.target == target.copy(oid = Some(2L)))
  }

  test("after a lost acknowledgement, the same first epoch of the previous query is not taken for this one's") {
    val row = replacing(at(0).copy(runId = "run 0")).toOption.get
    val first = attempt(0, generation = 2, query = "new")
    assert(row.last.contains(first.applied))
    assert(EpochDecision.landed(first, row) == Right(false))
    assert(EpochDecision.landed(first, row.copy(queryId = "new")) == Right(true))
  }

  test("epochs are applied in order, each once") {
    forAll(Gen.choose(0L, 50L)) { count =>
      val end = (0L until count).foldLeft(claimed()) { (row, epoch) =>
        decide(attempt(epoch), row) match {
          case Right(Apply(next)) =>
            assert(decide(attempt(epoch), next) == Right(AlreadyApplied(false)))
            next
          case other => fail(s"epoch $epoch was not applied: $other")
        }
      }
      assert(end.last.map(_.epoch) == Option.when(count > 0)(count - 1))
    }
  }

  test("the ledger never goes back and applies only the next epoch, for any attempts") {
    val steps = Gen.listOf(Gen.zip(Gen.choose(0L, 6L), Gen.oneOf("a", "b"), Gen.choose(1L, 3L)))
    forAll(steps) { attempts =>
      attempts.foldLeft(claimed().copy(generation = 2)) { case (row, (epoch, hash, generation)) =>
        decide(attempt(epoch, generation, Some(hash)), row) match {
          case Right(Apply(next)) =>
            assert(generation == 2 && epoch == row.last.fold(0L)(_.epoch + 1))
            next
          case Right(AlreadyApplied(_)) =>
            assert(row.last.exists(l => l.epoch == epoch && l.offsetsHash.contains(hash + epoch)))
            row
          case Right(Adopt(_) | Replace(_)) => fail("no option requests it")
          case Left(_)                      => row
        }
      }
    }
  }

  test("a missing epoch is a gap, an older one a regression") {
    assert(refusal(decide(attempt(7), at(5))) == Conditions.EpochGap)
    assert(refusal(decide(attempt(4), at(5))) == Conditions.EpochRegressed)
  }

  test("an older epoch whose checkpoint has the ledger's last one was overtaken by another driver, not rewound") {
    def hint(logged: Long => Option[String]): String = EpochDecision
      .decide(attempt(4).copy(logged = logged), at(7), OnLedgerEmpty.Fail, OnEpochMismatch.Fail, false, Some("run 9"))
      .fold(
        error => { assert(error.condition == Conditions.EpochRegressed); error.getMessage },
        other => fail(s"$other"))
    assert(hint(Map(7L -> "h7").get).contains("Another driver (run 9) runs this query with the same checkpoint"))
    Seq(Map(7L -> "other").get _, Map(6L -> "h7").get _).foreach(logged =>
      assert(hint(logged).contains("rewound, or is an old copy while another driver")))
  }

  test("an epoch follows the last one across epochs that only repartitioned the state") {
    def after(known: Long => Option[String]) = decide(attempt(8).copy(repartitions = known), at(5))
    assert(after(Map(6L -> "h5", 7L -> "h5").get).isRight)
    assert(refusal(after(Map(6L -> "h5").get)) == Conditions.EpochGap)
    assert(refusal(after(Map(6L -> "h5", 7L -> "h7").get)) == Conditions.EpochGap)
  }

  test("an empty ledger is rejected by a later epoch, or begins with it as the option for that epoch decides") {
    assert(refusal(decide(attempt(3), claimed())) == Conditions.LedgerEmpty)
    assert(decide(attempt(3), claimed(), OnLedgerEmpty.Write(3)).map(_.isInstanceOf[Apply]) == Right(true))
    assert(decide(attempt(3), claimed(), OnLedgerEmpty.Skip(3)) == Right(Adopt(at(3))))
    Seq(OnLedgerEmpty.Write(2), OnLedgerEmpty.Skip(4)).foreach { on =>
      assert(refusal(decide(attempt(3), claimed(), on)) == Conditions.LedgerEmpty)
    }
  }

  test("the same epoch with the same offsets and other rows is kept, and reported") {
    assert(decide(attempt(5, of = ContentDigest(10, 1)), at(5)) == Right(AlreadyApplied(contentDiffers = true)))
  }

  test("the same epoch with other offsets is always an error") {
    val other = attempt(5, hash = Some("other"))
    Seq(OnEpochMismatch.Fail, OnEpochMismatch.Keep).foreach { on =>
      assert(refusal(decide(other, at(5), onMismatch = on)) == Conditions.EpochOffsetsChanged)
    }
  }

  test("without offsets the rows decide, and onEpochMismatch decides about other rows") {
    val unread = attempt(5, hash = None)
    assert(decide(unread, at(5)) == Right(AlreadyApplied(false)))
    val other = unread.copy(digest = ContentDigest(9, 9))
    assert(refusal(decide(other, at(5))) == Conditions.EpochContentChanged)
    assert(decide(other, at(5), onMismatch = OnEpochMismatch.Keep) == Right(AlreadyApplied(true)))
  }

  test("an epoch replayed under another trigger is rejected") {
    assert(refusal(decide(attempt(5).copy(trigger = RealTime), at(5))) == Conditions.TriggerChanged)
  }

  test("a run that was replaced is fenced in any epoch") {
    forAll(Gen.choose(0L, 10L)) { epoch =>
      val row = at(5).copy(generation = 2)
      assert(refusal(decide(attempt(epoch), row)) == Conditions.SinkFenced)
      assert(refusal(EpochDecision.landed(attempt(epoch), row)) == Conditions.SinkFenced)
    }
  }

  test("after a lost acknowledgement the ledger shows whether the commit landed") {
    assert(EpochDecision.landed(attempt(5), at(5)) == Right(true))
    assert(EpochDecision.landed(attempt(6), at(5)) == Right(false))
  }

  test("a digest depends on every row, but neither on the order nor on the partitions") {
    val row = Gen.long.map(ContentDigest(1, _))
    forAll(Gen.nonEmptyListOf(row)) { rows =>
      val all = rows.fold(ContentDigest.empty)(_ + _)
      assert(rows.reverse.fold(ContentDigest.empty)(_ + _) == all)
      assert(rows.grouped(3).map(_.fold(ContentDigest.empty)(_ + _)).fold(ContentDigest.empty)(_ + _) == all)
      assert(rows.tail.fold(ContentDigest.empty)(_ + _) != all)
      assert((rows.head :: rows).fold(ContentDigest.empty)(_ + _) != all)
      assert(ContentDigest.parse(all.rows, all.hex) == all)
    }
  }
}
