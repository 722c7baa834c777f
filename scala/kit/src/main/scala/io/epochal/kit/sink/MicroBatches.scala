package io.epochal.kit.sink

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger.TriggerMode

/** The triggers of exactly-once sinks: those that fix an epoch's end before it runs. */
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

/** Spark's asynchronous progress tracking, as a query's options set it: an epoch's offsets may then be logged after its rows
  * were written. No sink of this kit supports it.
  */
object AsynchronousProgress {

  def isEnabled(options: Map[String, String]): Boolean = isTrue(options, "asyncProgressTrackingEnabled")

  /** Whether Spark is to skip its check that the sink supports it; in real time Spark 4.3 uses it unless it is disabled. */
  def isForced(options: Map[String, String]): Boolean =
    isTrue(options, "_asyncProgressTrackingOverrideSinkSupportCheck")

  private def isTrue(options: Map[String, String], name: String): Boolean =
    options.exists { case (option, value) => option.equalsIgnoreCase(name) && value.trim.equalsIgnoreCase("true") }
}
