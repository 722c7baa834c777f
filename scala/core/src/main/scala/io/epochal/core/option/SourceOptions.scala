package io.epochal.core.option

import java.time.Duration

import io.epochal.core.limit.ReadLimit

/** The options that every source has. */
object SourceOptions {

  val MaxRowsPerBatch: OptionSpec[Long] =
    OptionSpec("maxRowsPerBatch", OptionType.long(1), "Maximum rows in a micro-batch. Unset: all that are available.")
  val MinRowsPerBatch: OptionSpec[Long] = OptionSpec(
    "minRowsPerBatch",
    OptionType.long(1),
    "Rows to wait for before a micro-batch starts, for at most maxBatchDelay. Unset: any row starts one."
  )
  val MaxBatchDelay: OptionSpec[Duration] = OptionSpec(
    "maxBatchDelay",
    OptionType.duration,
    "How long minRowsPerBatch may delay rows.",
    Some(Duration.ofMinutes(15))
  )
  val FailOnDataLoss: OptionSpec[Boolean] = OptionSpec(
    "failOnDataLoss",
    OptionType.boolean,
    "Whether rows that are gone from the source fail the query; if not, they are skipped with a warning.",
    Some(true)
  )
  val SourceId: OptionSpec[String] = OptionSpec(
    "sourceId",
    OptionType.string,
    "The source's name in the offsets. A checkpoint is refused when it differs. Unset: made from the options that decide the rows.",
    sample = Some("comments")
  )

  val EventTimeColumn: OptionSpec[String] = OptionSpec(
    "eventTimeColumn",
    OptionType.string,
    "Column with the time of a row's event (TIMESTAMP, TIMESTAMP_NTZ or DATE). The highest one delivered is in the offsets, and its lag in the progress. Unset: rows are not looked at.",
    sample = Some("timestamp")
  )

  val all: Seq[OptionSpec[_]] =
    Seq(MaxRowsPerBatch, MinRowsPerBatch, MaxBatchDelay, FailOnDataLoss, SourceId, EventTimeColumn)

  /** The read limit that the options ask for. */
  def limit(values: OptionValues): ReadLimit = ReadLimit.all(
    values.get(MaxRowsPerBatch).map(ReadLimit.MaxRows).toSeq ++
      values.get(MinRowsPerBatch).map(ReadLimit.MinRows(_, values(MaxBatchDelay)))
  )
}
