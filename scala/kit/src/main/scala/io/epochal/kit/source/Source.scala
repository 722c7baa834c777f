package io.epochal.kit.source

import org.apache.spark.sql.connector.read.PartitionReaderFactory

import io.epochal.core.limit.ReadLimit

/** What a connector says of a source, on the driver, to have a [[SourceStream]] of it: who it is, how its positions are written,
  * and its [[Supply]]. Everything else is the stream's.
  */
trait Source[P] extends PositionCodec[P] {

  /** Spark's progress calls the source by this. */
  def name: String

  /** How much one batch takes, unless Spark says otherwise. */
  def limit: ReadLimit

  /** The column that says when a row's event was, where the user named one: its highest value is kept in the offsets. */
  def eventTimeColumn: Option[String] = None

  /** The position before the first row. Asked once in the life of a query. */
  def first: P

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

  /** Names of numbers in `metrics` that are not there yet when the first batch begins. */
  def laterMetrics: Set[String] = Set.empty
}
