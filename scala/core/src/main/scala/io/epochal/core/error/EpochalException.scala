package io.epochal.core.error

/** Every failure that this library reports on purpose.
  *
  * @param values
  *   the real values behind the message; never a secret
  */
final class EpochalException(val condition: Condition, val values: Map[String, String], cause: Throwable)
    extends RuntimeException(condition.render(values), cause)

object EpochalException {

  /** The nearest of our exceptions in a chain of causes, if there is one. */
  def in(error: Throwable): Option[EpochalException] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(50).collectFirst { case e: EpochalException => e }
}
