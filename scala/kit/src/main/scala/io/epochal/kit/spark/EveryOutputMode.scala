package io.epochal.kit.spark

import org.apache.spark.sql.connector.write.{SupportsTruncate, WriteBuilder}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend

/** A write builder that takes part in all three output modes.
  *
  * Append and update build alike: [[RunningQuery]] tells which it is. Complete, and a batch write in overwrite mode, call
  * `truncate()` first.
  */
trait EveryOutputMode extends WriteBuilder with SupportsTruncate with SupportsStreamingUpdateAsAppend
