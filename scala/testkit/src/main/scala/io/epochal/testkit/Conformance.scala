package io.epochal.testkit

import java.util.function.Supplier

import scala.annotation.varargs
import scala.jdk.CollectionConverters._

import io.epochal.core.error.Condition
import io.epochal.testkit.engine.Session
import io.epochal.testkit.report.{Check, Report}

/** The checks of one connector, in any test framework or none:
  *
  * {{{
  * Conformance.source("my-source", () => new MyFixture).run().assertAll()
  * }}}
  *
  * Each check gets a fixture of its own, and closes it.
  */
final class Conformance private (val subject: String, all: Seq[Check]) {

  def checks: java.util.List[Check] = all.asJava

  /** Runs every check, one after the other, and throws nothing. */
  def run(): Report =
    try new Report(subject, all.map(_.run()))
    finally release()

  /** Stops the session, if the checks have made it. */
  def release(): Unit = Session.release()

  /** Those whose promises have these names. */
  @varargs
  def only(names: String*): Conformance = {
    val unknown = names.filterNot(name => all.exists(_.promise.name == name))
    require(unknown.isEmpty, s"no such promise: ${unknown.mkString(", ")}")
    new Conformance(subject, all.filter(check => names.contains(check.promise.name)))
  }
}

object Conformance {

  /** What every micro-batch source must do: its stream, queries over it, and queries whose process is killed. The last need
    * a [[FormatSource]].
    */
  def source(name: String, newFixture: Supplier[_ <: SourceFixture]): Conformance = {
    val made = () => newFixture.get()
    val stage = new Stage(made)(new SourceScene(_))
    new Conformance(name, streams(made, None) ++ SourceQueryChecks.of(stage) ++ SourceKillChecks.of(stage))
  }

  /** The part of [[source]] that needs no session and takes a second: the source's stream alone. */
  def stream(name: String, newFixture: Supplier[_ <: SourceFixture]): Conformance =
    new Conformance(name, streams(() => newFixture.get(), None))

  /** What every exactly-once sink must do: queries that write to it, and queries whose process is killed. */
  def sink(name: String, newFixture: Supplier[_ <: FormatSink]): Conformance = {
    val stage = new Stage(() => newFixture.get())(new SinkScene(_))
    new Conformance(name, SinkQueryChecks.of(stage) ++ SinkKillChecks.of(stage))
  }

  /** What an exactly-once sink must do with every sequence of epochs, also those that a real engine brings seldom: without a
    * session, over a fixture that plays the engine.
    */
  def epochs(name: String, newFixture: Supplier[_ <: SinkFixture]): Conformance =
    new Conformance(name, epochs(() => newFixture.get(), None))

  private[testkit] def streams(
      newFixture: () => SourceFixture,
      tells: Option[(Throwable, Condition) => Boolean]
  ): Seq[Check] =
    StreamChecks.of(new Stage(newFixture)(fixture => new StreamScene(fixture, tells.getOrElse(fixture.tells))))

  private[testkit] def epochs(
      newFixture: () => SinkFixture,
      tells: Option[(Throwable, Condition) => Boolean]
  ): Seq[Check] =
    EpochChecks.of(new Stage(newFixture)(fixture => new EpochScene(fixture, tells.getOrElse(fixture.tells))))
}
