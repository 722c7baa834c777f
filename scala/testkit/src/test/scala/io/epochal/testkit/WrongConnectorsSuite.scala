package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.testkit.connector._
import io.epochal.testkit.report.{Promise, Report}

/** Faulty connectors break the promise that covers their fault. */
final class WrongConnectorsSuite extends AnyFunSuite {

  private def assertBroken(report: Report, promise: Promise, evidence: String): Unit = {
    println(report)
    val found = report.broken.asScala.find(_.promise == promise)
    assert(found.exists(_.explanation.contains(evidence)), report)
  }

  test("a position outside the checkpoint breaks checkpoint-alone", Slow) {
    val wrong = Conformance.source("side file", () => new LineFixture(classOf[SideFileLines], partitionable = false))
    val report = wrong.only("idempotent-plan", "commit", "replay", "checkpoint-alone", "restarts").run()
    assertBroken(report, SourcePromises.CheckpointAlone, "by the query 'restored': 10 rows for 20")
    assert(report.broken.size == 1 && report.exempt.isEmpty, report)
  }

  test("a wall clock as end offset breaks end-from-origin", Slow) {
    val wrong = Conformance.stream("clock", () => new LineFixture(classOf[WallClockLines], partitionable = false))
    val report = wrong.only("end-from-origin").run()
    assertBroken(report, SourcePromises.EndFromOrigin, "nothing was added, and the end went from")
  }

  test("a continuous source whose fixture declares no modes breaks their promises, unless they are exempt", Slow) {
    val promises = Seq("to-continuous", "steady-tasks", "from-real-time")
    def check(exempt: Map[String, String]) = Conformance
      .source(
        "undeclared",
        () =>
          new LineFixture(classOf[ContinuousLines], partitionable = false) {
            override def exemptions: java.util.Map[String, String] = exempt.asJava
          })
      .only(promises: _*)
      .run()
    val report = check(Map("steady-tasks" -> "tasks share the lines"))
    assert(report.broken.asScala.map(_.promise.name) == Seq("to-continuous", "from-real-time"), report)
    assertBroken(report, SourcePromises.ToContinuous, "override modes() to return Set.of(")
    assert(report.exempt.asScala.map(_.explanation) == Seq("tasks share the lines"), report)
  }

  test("an acknowledgement before durability loses rows in a kill", Slow) {
    val promises = SourcePromises.ofKills.map(_.name)
    val report = Conformance.source("receiver", () => new ReceiverFixture(durable = false)).only(promises: _*).run()
    assertBroken(report, SourcePromises.Acknowledged, "rows for 25")
    assert(report.kept.asScala.map(_.promise).contains(SourcePromises.KillBeforeCommitLog))
  }

  test("a ledger in a separate transaction duplicates rows in a kill during the commit", Slow) {
    val promises = SinkPromises.ofKills.map(_.name)
    def run() = Conformance.sink("sqlite", () => new SqliteFixture(together = false)).only(promises: _*).run()
    // A kill can miss the moment between the two transactions.
    val rounds = Iterator.continually(run()).take(5)
    val report = rounds.find(!_.broken.isEmpty).getOrElse(fail("not found in five rounds"))
    assertBroken(report, SinkPromises.RowsWithLedger, "more than once")
    assert(report.broken.size == 1, report)
  }

  test("an unsupported trigger that the sink accepts is reported", Slow) {
    val newFixture = () => new SqliteFixture(together = true, refuses = true)
    val report = Conformance.sink("sqlite", () => newFixture()).only(SinkPromises.ofModes.map(_.name): _*).run()
    assertBroken(report, SinkPromises.Continuous, "a continuous query was accepted")
    // Spark refuses it: the sink does not take update mode.
    assert(report.kept.asScala.map(_.promise) == Seq(SinkPromises.RealTime))
  }
}
