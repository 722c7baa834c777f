package io.epochal.testkit

import org.scalatest.Assertions

import io.epochal.core.error.{Condition, EpochalException}

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
