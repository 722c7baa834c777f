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
        "instead" -> ".trigger(processingTime=\"10 seconds\") or .trigger(availableNow=True)"
      ))
}
