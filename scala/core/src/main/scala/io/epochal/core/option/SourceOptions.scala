package io.epochal.core.option

import java.time.Duration

/** The options that every source has. */
object SourceOptions {

  val MaxRowsPerBatch: OptionSpec[Long] =
    OptionSpec("maxRowsPerBatch", OptionType.long(1), "Maximum rows in a micro-batch. Unset: all available ones.")
  val MinRowsPerBatch: OptionSpec[Long] = OptionSpec(
    "minRowsPerBatch",
    OptionType.long(1),
    "Rows to wait for before a micro-batch starts, at most for maxBatchDelay. Unset: any row starts one."
  )
  val MaxBatchDelay: OptionSpec[Duration] = OptionSpec(
    "maxBatchDelay",
    OptionType.duration,
    "Longest delay by minRowsPerBatch.",
    Some(Duration.ofMinutes(15))
  )
  val FailOnDataLoss: OptionSpec[Boolean] = OptionSpec(
    "failOnDataLoss",
    OptionType.boolean,
    "Whether rows lost at the source fail the query; if not, they are skipped with a warning.",
    Some(true)
  )
  val SourceId: OptionSpec[String] = OptionSpec(
    "sourceId",
    OptionType.string,
    "The source's identity in the checkpoint, which is refused if it differs. Unset: derived from the options that select rows.",
    sample = Some("comments")
  )

  val EventTimeColumn: OptionSpec[String] = OptionSpec(
    "eventTimeColumn",
    OptionType.string,
    "Event time column (TIMESTAMP, TIMESTAMP_NTZ or DATE), whose maximum is kept in the offsets and whose lag is reported.",
    sample = Some("timestamp")
  )

  val all: Seq[OptionSpec[_]] =
    Seq(MaxRowsPerBatch, MinRowsPerBatch, MaxBatchDelay, FailOnDataLoss, SourceId, EventTimeColumn)
}
