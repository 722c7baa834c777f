package io.epochal.kit.spark

import org.apache.spark.sql.connector.write.{SupportsTruncate, WriteBuilder}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend

/** A write builder for all three output modes.
  *
  * Append and update modes build the same write: [[RunningQuery]] distinguishes them. Complete mode, and a batch write in
  * overwrite mode, call `truncate()` first.
  */
trait EveryOutputMode extends WriteBuilder with SupportsTruncate with SupportsStreamingUpdateAsAppend
