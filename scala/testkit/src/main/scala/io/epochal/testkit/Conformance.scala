package io.epochal.testkit

import java.util.function.Supplier

import scala.annotation.varargs
import scala.jdk.CollectionConverters._

import io.epochal.testkit.engine.Session
import io.epochal.testkit.report.{Check, Report}

/** The checks of one connector, independent of the test framework:
  *
  * {{{
  * Conformance.source("my-source", () => new MyFixture).run().assertAll()
  * }}}
  *
  * Each check creates its own fixture and closes it.
  */
final class Conformance private (val subject: String, all: Seq[Check]) {

  def checks: java.util.List[Check] = all.asJava

  /** Runs all checks sequentially. Failures are in the report and are not thrown. */
  def run(): Report =
    try new Report(subject, all.map(_.run()))
    finally release()

  /** Stops the session, if the checks created it. */
  def release(): Unit = Session.release()

  /** The checks of the promises with these names. */
  @varargs
  def only(names: String*): Conformance = {
    val unknown = names.filterNot(name => all.exists(_.promise.name == name))
    require(unknown.isEmpty, s"no such promise: ${unknown.mkString(", ")}")
    new Conformance(subject, all.filter(check => names.contains(check.promise.name)))
  }
}

object Conformance {

  /** All checks of a micro-batch source: its stream, queries over it, and queries whose process is killed. The last need a
    * [[FormatSource]].
    */
  def source(name: String, newFixture: Supplier[_ <: SourceFixture]): Conformance = {
    val create = () => newFixture.get()
    val stage = new Stage(create)(new SourceScene(_))
    new Conformance(name, StreamChecks.of(create) ++ SourceQueryChecks.of(stage) ++ SourceKillChecks.of(stage))
  }

  /** The checks of [[source]] that test the stream alone. They need no session and take about a second. */
  def stream(name: String, newFixture: Supplier[_ <: SourceFixture]): Conformance =
    new Conformance(name, StreamChecks.of(() => newFixture.get()))

  /** All checks of an exactly-once sink under queries, including queries whose process is killed. */
  def sink(name: String, newFixture: Supplier[_ <: FormatSink]): Conformance = {
    val stage = new Stage(() => newFixture.get())(new SinkScene(_))
    new Conformance(name, SinkQueryChecks.of(stage) ++ SinkKillChecks.of(stage))
  }

  /** Checks of an exactly-once sink over sequences of epochs, including rare ones. They need no session: the checks call the sink as
    * Spark's engine would.
    */
  def epochs(name: String, newFixture: Supplier[_ <: SinkFixture]): Conformance =
    new Conformance(name, EpochChecks.of(() => newFixture.get()))
}
