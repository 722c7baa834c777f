package io.epochal.formats

import io.epochal.cdc.CdcOptions
import io.epochal.checkpoint.CheckpointOptions
import io.epochal.core.option.OptionGroup
import io.epochal.core.version.Version
import io.epochal.ingest.IngestOptions
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.random.RandomOptions
import io.epochal.rest.sink.RestSinkOptions
import io.epochal.rest.source.RestOptions

/** Metadata of the jar: version and options. */
object Epochal {

  /** Version, as in the jar's name. */
  val version: String = Version.text

  /** Options of every format, in the order of the documentation. */
  val formats: Seq[OptionGroup] =
    Seq(
      RandomOptions.group,
      IngestOptions.group,
      CdcOptions.group,
      RestOptions.group,
      RestSinkOptions.group,
      JdbcOptions.group,
      CheckpointOptions.group)

  /** [[formats]] as JSON, for other languages: `{"epochal-random":{"description":…,"options":[{"name":…},…]},…}`. */
  def optionsJson: String = OptionsDocument.json(formats)
}
