package io.epochal.kit.sink

import org.apache.spark.sql.streaming.OutputMode

import io.epochal.core.ledger._

/** How rows are written.
  *
  * @param whole
  *   they replace all rows of the target
  * @param outputMode
  *   of the query; None: a batch
  * @param trigger
  *   of the query
  */
final case class WriteKind(
    whole: Boolean,
    outputMode: Option[OutputMode],
    trigger: TriggerMode = TriggerMode.MicroBatch)
