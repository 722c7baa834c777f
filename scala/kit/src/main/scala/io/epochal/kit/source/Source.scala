package io.epochal.kit.source

import org.apache.spark.sql.connector.read.streaming.{ContinuousPartitionReaderFactory, PartitionOffset}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}

import io.epochal.core.error.EpochalException
import io.epochal.core.limit.ReadLimit

/** What a connector says of a source, on the driver, to have a [[SourceStream]] of it: who it is, how its positions are written,
  * and its [[Supply]]. Everything else is the stream's.
  */
trait Source[P] {

  /** Spark's progress calls the source by this. */
  def name: String

  /** How much one batch takes, unless Spark says otherwise. */
  def limit: ReadLimit

  /** The position before the first row. Asked once in the life of a query. */
  def first: P

  /** An offset of this source, as `core.offset.OffsetFormat` writes it. */
  def toJson(position: P): String

  /** Left where it is no offset of this source: OFFSET_INVALID, OFFSET_VERSION_UNSUPPORTED, SOURCE_CHANGED. */
  def fromJson(json: String): Either[EpochalException, P]

  /** One for the life of the stream. */
  def supply: Supply[P]

  /** Reads any partition that the supply plans. Spark asks for it before or after it has a batch planned. */
  def readerFactory: PartitionReaderFactory

  /** What bounds a poll, for supplies that receive rows. */
  def polls: PollBudgets = PollBudgets.Unbounded

  /** What was received since the start of the run, for people who wait for a poll; None where polls are quick. */
  def received: Option[String] = None

  /** The source's own entries in every progress, beside the lag or in place of it; those that are numbers are in Spark's metrics
    * system, too. Asked by any thread.
    */
  def metrics(rowsBehind: Option[Long]): Map[String, String]
}

/** A source that can be read by a continuous query as well. */
trait ContinuousSource[P] extends Source[P] {

  /** Partitions that never end; as many as at the start of the query that wrote `start`, where it tells. */
  def endlessPartitions(start: P): Array[InputPartition]

  def endlessReaderFactory: ContinuousPartitionReaderFactory

  /** One offset of all partitions' at the end of an epoch, which come in any order. */
  def merge(offsets: Seq[PartitionOffset]): P
}
