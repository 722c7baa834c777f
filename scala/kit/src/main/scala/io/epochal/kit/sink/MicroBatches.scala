package io.epochal.kit.sink

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.ledger._

/** The triggers of exactly-once sinks: those that fix an epoch's end before it runs. */
private[epochal] object MicroBatches {

  /** Databases whose tasks can store a row before its epoch ends. */
  val Databases = "PostgreSQL, MySQL and MariaDB"

  def refused(format: String, trigger: TriggerMode): Option[EpochalException] =
    Option.when(trigger != TriggerMode.MicroBatch)(Conditions.TriggerUnsupported(
      "format" -> format,
      "trigger" -> trigger.name,
      "reason" -> "there Spark sets an epoch's end while the epoch runs, and a restart can deliver other rows under the same number",
      "instead" -> s"{trigger:processingTime=10 seconds} or {trigger:availableNow}; epochal-jdbc has the ${trigger.name} trigger on $Databases"
    ))
}
