package io.epochal.kit.connector

import io.epochal.core.option.{OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.kit.sink.{IdentityOptions, SinkSettings}

/** The options that every sink of a connector has. */
private[connector] object SinkOptions {

  val InlineMaxBytes: OptionSpec[Long] = OptionSpec(
    "inlineMaxBytes",
    OptionType.bytes,
    "Bytes of an epoch that may travel in commit messages; tasks whose share has more write files.",
    Some(64L << 20))
  val SpillDirectory: OptionSpec[String] = OptionSpec(
    "spillDirectory",
    OptionType.string,
    "Directory, on a file system that driver and executors reach, for those files. Unset: the checkpoint; for a batch in local mode a temporary directory, and on a cluster none.",
    sample = Some("s3a://bucket/spill")
  )

  val all: Seq[OptionSpec[_]] = Seq(
    IdentityOptions.SinkId,
    IdentityOptions.NewQuery,
    IdentityOptions.LedgerEmpty,
    IdentityOptions.EpochMismatch,
    InlineMaxBytes,
    SpillDirectory) ++ RetryOptions.all

  def settings(values: OptionValues): SinkSettings = SinkSettings(
    values.get(IdentityOptions.SinkId),
    values(IdentityOptions.NewQuery),
    values(IdentityOptions.LedgerEmpty),
    values(IdentityOptions.EpochMismatch),
    values(InlineMaxBytes),
    values.get(SpillDirectory),
    badRowLimit = None
  )
}
