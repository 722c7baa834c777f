package io.epochal.kit.sink

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionGroup

/** Spark's asynchronous progress tracking, as a query's options set it: an epoch's offsets may then be logged after its rows
  * were written. No sink of this kit supports it.
  */
object AsynchronousProgress {

  def isEnabled(options: Map[String, String]): Boolean = isTrue(options, "asyncProgressTrackingEnabled")

  /** Whether Spark is to skip its check that the sink supports it; in real time Spark 4.3 uses it unless it is disabled. */
  def isForced(options: Map[String, String]): Boolean =
    isTrue(options, "_asyncProgressTrackingOverrideSinkSupportCheck")

  /** Rejects it.
    *
    * @param reason
    *   what it would break
    */
  def refused(group: OptionGroup, options: Map[String, String], reason: String): Either[EpochalException, Unit] =
    Either.cond(
      !isEnabled(options),
      (),
      group.unsupported("run with asynchronous progress tracking", reason, "Leave asyncProgressTrackingEnabled out."))

  private def isTrue(options: Map[String, String], name: String): Boolean =
    options.exists { case (option, value) => option.equalsIgnoreCase(name) && value.trim.equalsIgnoreCase("true") }
}
