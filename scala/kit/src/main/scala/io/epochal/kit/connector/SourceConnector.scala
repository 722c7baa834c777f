package io.epochal.kit.connector

import java.util

import org.apache.spark.sql.connector.read.Batch
import org.apache.spark.sql.types.StructType

import io.epochal.core.annotation.Stable
import io.epochal.core.option.OptionSpec
import io.epochal.kit.source.{InitialOffset, Source}

/** A source of another team: `format("…")` for batch reads and streams. Its author says what the origin has and how it is read
  * ([[Origin]]); offsets in the checkpoint, their versions and their owner, limits, AvailableNow, the first offset, lag, metrics and
  * retries are the kit's.
  *
  * Not guaranteed: columns are not pruned and filters not pushed down; a task that fails while it reads is begun anew by Spark.
  *
  * @tparam P
  *   a position in the source, as in [[Origin]]
  */
@Stable
abstract class SourceConnector[P](format: String, description: String, specs: util.List[OptionSpec[_]])
    extends SourceDefinition[P](format, description, specs) {

  /** Connects to the origin; on the driver and in each task. */
  def open(settings: Settings, schema: StructType): Origin[P]

  /** Whether its origin is a [[TailOrigin]], which continuous and real-time queries follow. */
  def tails: Boolean = false

  final override private[connector] def isContinuous: Boolean = tails

  final override private[connector] def batch(settings: Settings, schema: StructType, parts: Int): Batch =
    new OriginBatch(this, settings, schema, parts)

  final override private[connector] def source(
      settings: Settings,
      schema: StructType,
      checkpoint: InitialOffset,
      parts: Int): Source[ConnectorPosition[P]] =
    if (tails) new TailSource(this, settings, schema, parts) else new OriginSource(this, settings, schema, parts)
}
