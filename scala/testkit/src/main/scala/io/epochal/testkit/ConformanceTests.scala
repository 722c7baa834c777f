package io.epochal.testkit

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.{Assertions, BeforeAndAfterAll}

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.testkit.report.{Check, Outcome}

/** A ScalaTest test for each promise: it fails if the promise is broken, and is canceled if it is not made. */
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

/** A test for each promise of a [[Conformance]]. Its session ends with the suite. */
trait ConformanceTests extends PromiseTests with BeforeAndAfterAll {

  /** Called once, while the suite is constructed. */
  protected def conformance: Conformance

  private val checked = conformance
  register(checked.subject, checked.checks.asScala.toSeq)

  override protected def afterAll(): Unit =
    try checked.release()
    finally super.afterAll()
}

/** Everything that a source must do: its stream, queries over it, and queries whose process is killed. [[SourceChecks]] is the part
  * without queries.
  */
trait SourceConformance extends ConformanceTests {

  def sourceName: String

  /** A fresh origin with no rows; made for each check, and closed after it. */
  def newFixture(): SourceFixture

  final override protected def conformance: Conformance = Conformance.source(sourceName, () => newFixture())
}

/** Everything that an exactly-once sink must do. [[SinkChecks]] has the sequences of epochs that need no query. */
trait SinkConformance extends ConformanceTests {

  def sinkName: String

  /** A fresh target with no rows; made for each check, and closed after it. */
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
  * Offsets must be exclusive, JSON, and have a version field `"v"` or `"version"`; `latestOffset` must honour read limits.
  */
trait SourceChecks extends PromiseTests with Refusals {

  def sourceName: String

  /** A fresh origin with no rows. */
  def newFixture(): SourceFixture

  register(sourceName, Conformance.streams(() => newFixture(), Some(tells)))
}

/** The checks of an exactly-once sink that need no query; used like [[SourceChecks]]. */
trait SinkChecks extends PromiseTests with Refusals {

  def sinkName: String

  /** A fresh target with no rows, and a fresh checkpoint. */
  def newFixture(): SinkFixture

  register(sinkName, Conformance.epochs(() => newFixture(), Some(tells)))
}

/** Whether a connector refuses by the right name. */
trait Refusals extends Assertions {

  /** Whether an error is the refusal that the condition names. A connector whose errors are not Epochal's overrides it. */
  protected def tells(error: Throwable, condition: Condition): Boolean =
    EpochalException.in(error).exists(_.condition.name == condition.name)

  /** Asserts that the body is refused with the condition; another error fails the check, and so does none. */
  final protected def refused(condition: Condition)(body: => Any): Exception = {
    val error = intercept[Exception](body)
    assert(tells(error, condition), s"not ${condition.name}, but: $error")
    error
  }
}
