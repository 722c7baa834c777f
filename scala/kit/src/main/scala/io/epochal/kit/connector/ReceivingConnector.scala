package io.epochal.kit.connector

import java.util

import org.apache.spark.sql.connector.read.Batch
import org.apache.spark.sql.types.StructType

import io.epochal.core.annotation.Experimental
import io.epochal.core.option.OptionSpec
import io.epochal.kit.source.{InitialOffset, Source}

/** A source connector whose origin cannot repeat its records. Its author implements how records are received ([[Receiver]]) and
  * decoded. The kit provides the same as for a [[SourceConnector]], and the journal.
  *
  * Not guaranteed: anything beyond what the journal holds; see [[Receiver]]. There are no batch reads.
  *
  * @tparam C
  *   a cursor, as in [[Receiver]]; `positions` defines its format
  */
@Experimental
abstract class ReceivingConnector[C](format: String, description: String, specs: util.List[OptionSpec[_]])
    extends SourceDefinition[C](format, description, specs) {

  /** Connects to the origin, on the driver. */
  def open(settings: Settings, schema: StructType): Receiver[C]

  /** Opens the decoder of records, in each task. */
  def decoder(settings: Settings, schema: StructType): RecordDecoder

  final override private[connector] def isContinuous: Boolean = true

  final override private[connector] def batch(read: ConnectorRead): Batch =
    throw group.unsupported(
      "be read by a batch",
      "what it receives is kept in the checkpoint of a stream",
      "Use readStream with {trigger:availableNow}.")

  final override private[connector] def source(
      read: ConnectorRead,
      checkpoint: InitialOffset): Source[ConnectorPosition[C]] = new ReceivedSource(this, read, checkpoint)
}
