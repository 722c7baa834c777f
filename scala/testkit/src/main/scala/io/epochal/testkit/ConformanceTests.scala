package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.{Assertions, BeforeAndAfterAll}

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.testkit.report.{Check, Outcome}

/** One ScalaTest test per promise: it fails if the promise is broken, and is canceled if it is exempt. */
trait PromiseTests extends AnyFunSuite {

  final protected def register(subject: String, checks: Seq[Check]): Unit =
    checks.foreach { check =>
      test(s"$subject: ${check.promise.claim}") {
        check.run().outcome match {
          case Outcome.Kept                    => succeed
          case Outcome.Broken(evidence, cause) => fail(evidence, cause)
          case Outcome.Exempt(reason)          => cancel(reason)
        }
      }
    }
}

/** One test per promise of a [[Conformance]]. The session is stopped after the suite. */
trait ConformanceTests extends PromiseTests with BeforeAndAfterAll {

  /** Called once, during construction of the suite. */
  protected def conformance: Conformance

  private val checked = conformance
  register(checked.subject, checked.checks.asScala.toSeq)

  override protected def afterAll(): Unit =
    try checked.release()
    finally super.afterAll()
}

/** All checks of a source: its stream, queries over it, and queries whose process is killed. [[SourceChecks]] has those that need
  * no query.
  */
trait SourceConformance extends ConformanceTests {

  def sourceName: String

  /** Creates an empty origin. Each check creates one and closes it. */
  def newFixture(): SourceFixture

  final override protected def conformance: Conformance = Conformance.source(sourceName, () => newFixture())
}

/** All checks of an exactly-once sink under queries. [[SinkChecks]] has those over sequences of epochs, without queries. */
trait SinkConformance extends ConformanceTests {

  def sinkName: String

  /** Creates an empty target. Each check creates one and closes it. */
  def newFixture(): FormatSink

  final override protected def conformance: Conformance = Conformance.sink(sinkName, () => newFixture())
}

/** The checks of a source that need no query:
  *
  * {{{
  * final class MySourceSuite extends SourceChecks {
  *   override def sourceName = "my-source"
  *   override def newFixture() = new SourceFixture { … }
  * }
  * }}}
  *
  * Offsets must be exclusive and JSON, with a version field `"v"` or `"version"`; `latestOffset` must honour read limits.
  */
trait SourceChecks extends PromiseTests with Refusals {

  def sourceName: String

  /** Creates an empty origin. */
  def newFixture(): SourceFixture

  register(sourceName, StreamChecks.of(() => newFixture(), _ => reports))
}

/** The checks of an exactly-once sink that need no query; used like [[SourceChecks]]. */
trait SinkChecks extends PromiseTests with Refusals {

  def sinkName: String

  /** Creates an empty target with a new checkpoint. */
  def newFixture(): SinkFixture

  register(sinkName, EpochChecks.of(() => newFixture(), _ => reports))
}

/** Assertions that a connector refuses with the right condition. */
trait Refusals extends Assertions {

  /** Whether an error is a refusal with the condition. Override it for a connector with its own errors. */
  protected def reports(error: Throwable, condition: Condition): Boolean =
    EpochalException.in(error).exists(_.condition.name == condition.name)

  /** Asserts that the body is refused with the condition; any other outcome fails the check. */
  final protected def refused(condition: Condition)(body: => Any): Exception = {
    val error = intercept[Exception](body)
    assert(reports(error, condition), s"not ${condition.name}, but: $error")
    error
  }
}
