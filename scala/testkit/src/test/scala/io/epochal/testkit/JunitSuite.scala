package io.epochal.testkit

import java.io.{ByteArrayOutputStream, PrintStream}
import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.junit.platform.engine.discovery.DiscoverySelectors.selectClass
import org.junit.platform.engine.{TestExecutionResult, UniqueId}
import org.junit.platform.launcher.core.{LauncherDiscoveryRequestBuilder, LauncherFactory}
import org.junit.platform.launcher.{TestExecutionListener, TestIdentifier}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

/** The kit's tests under JUnit 5. */
final class JunitSuite extends AnyFunSuite {

  /** Results of a class's tests, by name. */
  private def run(className: String): Map[String, TestExecutionResult] = {
    val results = Map.newBuilder[String, TestExecutionResult]
    val listener = new TestExecutionListener {
      override def executionFinished(test: TestIdentifier, result: TestExecutionResult): Unit =
        if (test.isTest) results += test.getDisplayName -> result
    }
    val request = LauncherDiscoveryRequestBuilder.request().selectors(selectClass(className)).build()
    LauncherFactory.create().execute(request, listener)
    results.result()
  }

  private def status(results: Map[String, TestExecutionResult], promise: String): String =
    results
      .collectFirst { case (name, result) if name.startsWith(s"$promise:") => result.getStatus.name }
      .getOrElse("none")

  test("the test of a kept promise succeeds, of a broken one fails with evidence, of an exempt one is aborted", Slow) {
    val printed = new ByteArrayOutputStream
    val results = printingTo(printed)(run("io.epochal.testkit.example.WallClockTest"))
    assert(
      Seq("offset-round-trip", "end-from-origin", "lag")
        .map(status(results, _)) == Seq("SUCCESSFUL", "FAILED", "ABORTED"))
    val messages =
      results.values.flatMap(_.getThrowable.map[String](_.getMessage).stream.iterator.asScala).mkString("\n")
    assert(messages.contains("nothing was added, and the end went from"))
    assert(messages.contains("the source counts no rows"))
    val lines = printed.toString(UTF_8).linesIterator.toSeq
    assert(lines.filter(_.startsWith("clock: ")) == Seq(s"clock: exempt   ${SourcePromises.Lag}"))
    assert(lines.exists(_.trim == "the source counts no rows"))
  }

  private def printingTo[A](to: ByteArrayOutputStream)(body: => A): A = {
    val before = System.out
    System.setOut(new PrintStream(to, true, UTF_8))
    try body
    finally System.setOut(before)
  }

  test("a class that implements the interface has one test per promise") {
    val found = LauncherFactory
      .create()
      .discover(
        LauncherDiscoveryRequestBuilder
          .request()
          .selectors(selectClass("io.epochal.testkit.example.LinesTest"))
          .build())
    val factories =
      found.getRoots.asScala.toSeq.flatMap(found.getDescendants(_).asScala).filter(_.getDisplayName == "promises()")
    assert(factories.map(one => UniqueId.parse(one.getUniqueId).getLastSegment.getType) == Seq("test-factory"))
    val fixture = () => new io.epochal.testkit.connector.LineFixture(classOf[io.epochal.testkit.connector.Lines])
    val checked = Conformance.source("lines", () => fixture()).checks.asScala.map(_.promise)
    assert(checked.toSet == PromisesSuite.of(SourcePromises).toSet)
  }
}
