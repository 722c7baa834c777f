package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.testkit.connector._
import io.epochal.testkit.report.{Promise, Report}

/** The kit catches what is wrong, by the promise that is broken. */
final class WrongConnectorsSuite extends AnyFunSuite {

  private def assertBroken(report: Report, promise: Promise, evidence: String): Unit = {
    println(report)
    val found = report.broken.asScala.find(_.promise == promise)
    assert(found.exists(_.explanation.contains(evidence)), report)
  }

  test("a position kept outside the checkpoint is found by a copy of the checkpoint", Slow) {
    val wrong = Conformance.source("side file", () => new LineFixture(classOf[SideFileLines], partitionable = false))
    val report = wrong.only("idempotent-plan", "commit", "replay", "checkpoint-alone", "restarts").run()
    assertBroken(report, SourcePromises.CheckpointAlone, "by the query 'restored': 10 rows for 20")
    assert(report.broken.size == 1 && report.exempt.isEmpty, report)
  }

  test("a wall clock as end offset is found by an end that moves though nothing was added") {
    val report =
      Conformance.stream("clock", () => new LineFixture(classOf[WallClockLines], partitionable = false)).run()
    assertBroken(report, SourcePromises.EndFromOrigin, "nothing was added, and the end went from")
  }

  test("an acknowledgement before durability is found by rows that a kill loses", Slow) {
    val promises = SourcePromises.ofKills.map(_.name)
    val report = Conformance.source("receiver", () => new ReceiverFixture(durable = false)).only(promises: _*).run()
    assertBroken(report, SourcePromises.Acknowledged, "rows for 25")
    assert(report.kept.asScala.map(_.promise).contains(SourcePromises.KillBeforeCommitLog))
  }

  test("a ledger in another transaction than the rows is found by a kill during the commit", Slow) {
    val promises = SinkPromises.ofKills.map(_.name)
    def run() = Conformance.sink("sqlite", () => new SqliteFixture(together = false)).only(promises: _*).run()
    // A round of kills can miss the moment between the two.
    val rounds = Iterator.continually(run()).take(5)
    val report = rounds.find(!_.broken.isEmpty).getOrElse(fail("not found in five rounds"))
    assertBroken(report, SinkPromises.RowsWithLedger, "more than once")
    assert(report.broken.size == 1, report)
  }

  test("a trigger that a sink does not support, and accepts, is found by its not being refused") {
    val newFixture = () => new SqliteFixture(together = true, refuses = true)
    val report = Conformance.sink("sqlite", () => newFixture()).only(SinkPromises.ofModes.map(_.name): _*).run()
    assertBroken(report, SinkPromises.Continuous, "a continuous query was accepted")
    // Spark refuses it: the sink does not take update mode.
    assert(report.kept.asScala.map(_.promise) == Seq(SinkPromises.RealTime))
  }
}
