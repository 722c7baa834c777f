package io.epochal.testkit

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.commons.lang3.exception.ExceptionUtils

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.testkit.report.Evidence

/** Distinguishes deliberate refusals from accidental errors. */
object ExpectedRefusal {

  /** Whether an error is a refusal: an Epochal error must have the condition; any other error counts unless it indicates a bug. */
  def reports(error: Throwable, condition: Condition): Boolean =
    EpochalException.in(error) match {
      case Some(own) => own.condition.name == condition.name
      case None      => !ExceptionUtils.getThrowableList(error).asScala.exists(isAccident)
    }

  /** Whether the class of an error indicates a bug. */
  private def isAccident(error: Throwable): Boolean = error match {
    case _: NullPointerException | _: ClassCastException | _: IndexOutOfBoundsException => true
    case _: ArithmeticException | _: MatchError | _: AssertionError                     => true
    case _                                                                              => false
  }

  /** Runs `body`, which must be refused, and returns the error.
    *
    * @param reports
    *   whether an error is a refusal with the condition
    */
  def of(condition: Condition, what: String, reports: (Throwable, Condition) => Boolean)(body: => Any): Throwable =
    Try(body) match {
      case Success(_) => Evidence.broken(s"$what was accepted; it must be refused (${condition.name})")
      case Failure(refusal) if reports(refusal, condition) => refusal
      case Failure(other) =>
        Evidence.broken(s"$what was not refused as ${condition.name}, but failed: ${Evidence.text(other)}", other)
    }
}
