package io.epochal.kit.sink

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode

/** The triggers that an exactly-once sink can work with: those whose epochs have their end before they run. */
private[epochal] object MicroBatches {

  def refused(format: String, trigger: TriggerMode): Option[EpochalException] =
    Option.when(trigger != TriggerMode.MicroBatch)(
      Conditions.TriggerUnsupported(
        "format" -> format,
        "trigger" -> trigger.name,
        "reason" -> "there Spark sets an epoch's end while the epoch runs, and a restart can deliver other rows under the same number",
        "instead" -> "{trigger:processingTime=10 seconds} or {trigger:availableNow}"
      ))
}

/** Spark's asynchronous progress tracking, as a query's options ask for it: an epoch's offsets may then be logged after its rows were
  * written. No sink of this kit can work so.
  */
object AsynchronousProgress {

  def isEnabled(options: Map[String, String]): Boolean = isTrue(options, "asyncProgressTrackingEnabled")

  /** Whether Spark is not to look whether the sink supports it; in real time Spark 4.3 tracks so unless it is told not to. */
  def isForced(options: Map[String, String]): Boolean =
    isTrue(options, "_asyncProgressTrackingOverrideSinkSupportCheck")

  private def isTrue(options: Map[String, String], name: String): Boolean =
    options.exists { case (option, value) => option.equalsIgnoreCase(name) && value.trim.equalsIgnoreCase("true") }
}
