package io.epochal.core.option

import java.time.Duration

import io.epochal.core.error.Conditions

/** The options that every source has. */
object SourceOptions extends OptionList {

  val MaxRowsPerBatch =
    option("maxRowsPerBatch", OptionType.long(1))("Maximum rows in a micro-batch. Unset: all available ones.")
  val MinRowsPerBatch = option("minRowsPerBatch", OptionType.long(1))(
    "Rows to wait for before a micro-batch starts, at most for maxBatchDelay. Unset: any row starts one.")
  val MaxBatchDelay =
    option("maxBatchDelay", OptionType.duration, Some(Duration.ofMinutes(15)))("Longest delay by minRowsPerBatch.")
  val FailOnDataLoss = option("failOnDataLoss", OptionType.boolean, Some(true))(
    "Whether rows lost at the source fail the query; if not, they are skipped with a warning.")
  val SourceId = option("sourceId", OptionType.string, sample = Some("comments"))(
    "The source's identity in the checkpoint, which is refused if it differs. Unset: derived from the options that select rows.")
  val EventTimeColumn = option("eventTimeColumn", OptionType.string, sample = Some("timestamp"))(
    "Event time column (TIMESTAMP, TIMESTAMP_NTZ or DATE), whose maximum is kept in the offsets and whose lag is reported.")

  /** The problem of rows that a source has lost, for a warning.
    *
    * @param fails
    *   whether they fail the query ([[FailOnDataLoss]])
    * @throws io.epochal.core.error.EpochalException
    *   DATA_LOSS, if so
    */
  def lost(source: String, fails: Boolean)(from: Any, until: Any, reason: String): String = {
    val loss = Conditions.DataLoss("source" -> source, "from" -> from, "until" -> until, "reason" -> reason)
    if (fails) throw loss else loss.problem
  }
}
