package io.epochal.testkit

import org.scalatest.Assertions

import io.epochal.core.error.{Condition, EpochalException}

/** Whether a connector refuses by the right name. */
trait Refusals extends Assertions {

  /** Whether an error tells of the condition. A connector whose errors are not Epochal's says here how its own do. */
  protected def tells(error: Throwable, condition: Condition): Boolean =
    EpochalException.in(error).exists(_.condition.name == condition.name)

  /** Asserts that the body is refused with the condition; another error fails the check, and so does none. */
  final protected def refused(condition: Condition)(body: => Any): Exception = {
    val error = intercept[Exception](body)
    assert(tells(error, condition), s"not ${condition.name}, but: $error")
    error
  }
}
