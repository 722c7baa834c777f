package io.epochal.testkit

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.testkit.connector.{LineFixture, Lines, ReceiverFixture, SqliteFixture}
import io.epochal.testkit.report.Report

/** Correct connectors keep every promise. */
final class RightConnectorsSuite extends AnyFunSuite {

  private def assertKept(report: Report, exempt: Set[String]): Unit = {
    report.assertAll()
    val names = scala.jdk.CollectionConverters.ListHasAsScala(report.exempt).asScala.map(_.promise.name).toSet
    assert(names == exempt, report)
  }

  test("a source over a file keeps every promise", Slow) {
    val report = Conformance.source("lines", () => new LineFixture(classOf[Lines])).run()
    println(report)
    assertKept(report, Set("to-continuous", "steady-tasks", "from-real-time"))
  }

  test("a source that journals received rows keeps every promise of queries and kills", Slow) {
    val promises = (SourcePromises.ofQueries ++ SourcePromises.ofKills).map(_.name)
    val report = Conformance.source("receiver", () => new ReceiverFixture(durable = true)).only(promises: _*).run()
    println(report)
    assertKept(report, Set("to-continuous", "steady-tasks", "from-real-time"))
  }

  test("a sink whose rows and ledger commit together keeps every promise", Slow) {
    val report = Conformance.sink("sqlite", () => new SqliteFixture(together = true)).run()
    println(report)
    assertKept(report, Set("continuous", "real-time"))
  }
}
