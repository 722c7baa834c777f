package io.epochal.core.error

import java.util.ServiceLoader

import io.epochal.core.annotation.Stable

/** Every failure that this library reports on purpose.
  *
  * An `IllegalArgumentException`, because PySpark shows exceptions of that class as one short Python error, and any other
  * `RuntimeException` as the JVM's stack trace.
  *
  * @param raw
  *   the real values behind the message, which may have references to options; never a secret
  */
@Stable
class EpochalException(val condition: Condition, raw: Map[String, String], cause: Throwable)
    extends IllegalArgumentException(Reference.plain(condition.render(raw)), cause) {

  val values: Map[String, String] = raw.transform((_, value) => Reference.plain(value))

  /** The message with references to options, such as `{option:pageSize}`, for languages that name them otherwise. */
  val markup: String = condition.render(raw)

  /** The message without its hint. */
  def problem: String = Reference.plain(condition.renderProblem(raw))
}

object EpochalException {

  /** Makes exceptions of a class of the surrounding engine. Found by `ServiceLoader`. */
  trait Maker {
    def make(condition: Condition, values: Map[String, String], cause: Throwable): EpochalException
  }

  private object Plain extends Maker {
    override def make(condition: Condition, values: Map[String, String], cause: Throwable): EpochalException =
      new EpochalException(condition, values, cause)
  }

  private lazy val maker: Maker =
    ServiceLoader.load(classOf[Maker], classOf[Maker].getClassLoader).findFirst().orElse(Plain)

  private[error] def apply(condition: Condition, values: Map[String, String], cause: Throwable): EpochalException =
    maker.make(condition, values, cause)

  /** The nearest of our exceptions in a chain of causes, if there is one. */
  def in(error: Throwable): Option[EpochalException] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).take(50).collectFirst { case e: EpochalException => e }
}
