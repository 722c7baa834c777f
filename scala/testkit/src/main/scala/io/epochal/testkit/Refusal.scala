package io.epochal.testkit

import scala.util.control.NonFatal

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.testkit.report.Evidence

/** Distinguishes deliberate refusals from accidental errors. */
object Refusal {

  /** Error classes that indicate a bug. */
  private val accidents: Seq[Class[_ <: Throwable]] = Seq(
    classOf[NullPointerException],
    classOf[ClassCastException],
    classOf[IndexOutOfBoundsException],
    classOf[ArithmeticException],
    classOf[MatchError],
    classOf[AssertionError]
  )

  /** Whether an error is a refusal: an Epochal error must have the condition; any other error counts unless it indicates a bug. */
  def reports(error: Throwable, condition: Condition): Boolean =
    EpochalException.in(error) match {
      case Some(named) => named.condition.name == condition.name
      case None        => !causes(error).exists(cause => accidents.exists(_.isInstance(cause)))
    }

  private def causes(error: Throwable): Seq[Throwable] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(50).toSeq

  /** Runs `body`, which must be refused, and returns the error.
    *
    * @param reports
    *   whether an error is a refusal with the condition
    */
  def of(condition: Condition, what: String, reports: (Throwable, Condition) => Boolean)(body: => Any): Throwable = {
    val error =
      try { val _ = body; None }
      catch { case NonFatal(e) => Some(e) }
    error match {
      case None => Evidence.broken(s"$what was accepted; it must be refused (${condition.name})")
      case Some(refusal) if reports(refusal, condition) => refusal
      case Some(other) =>
        Evidence.broken(s"$what was not refused as ${condition.name}, but failed: ${Evidence.text(other)}", other)
    }
  }
}
