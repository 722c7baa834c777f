package io.epochal.kit.connector

import java.util

import org.apache.spark.sql.connector.read.Batch
import org.apache.spark.sql.types.StructType

import io.epochal.core.annotation.Stable
import io.epochal.core.option.OptionSpec
import io.epochal.kit.source.{InitialOffset, Source}

/** A source connector: `format("…")` for batch reads and streams. Its author implements how rows are found and read
  * ([[Origin]]). The kit provides checkpoint offsets with version and owner, limits, AvailableNow, the first offset, lag,
  * metrics and retries.
  *
  * Not guaranteed: columns are not pruned and filters are not pushed down; Spark restarts a task that fails while it reads.
  *
  * @tparam P
  *   a position in the source, as in [[Origin]]
  */
@Stable
abstract class SourceConnector[P](format: String, description: String, specs: util.List[OptionSpec[_]])
    extends SourceDefinition[P](format, description, specs) {

  /** Connects to the origin; on the driver and in each task. */
  def open(settings: Settings, schema: StructType): Origin[P]

  /** Whether the origin is a [[TailOrigin]], for continuous and real-time queries. */
  def tails: Boolean = false

  final override private[connector] def isContinuous: Boolean = tails

  final override private[connector] def batch(read: ConnectorRead): Batch = new OriginBatch(this, read)

  final override private[connector] def source(
      read: ConnectorRead,
      checkpoint: InitialOffset): Source[ConnectorPosition[P]] =
    if (tails) new TailSource(this, read, checkpoint) else new OriginSource(this, read)
}
