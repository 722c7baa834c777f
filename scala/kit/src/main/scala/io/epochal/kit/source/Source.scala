package io.epochal.kit.source

import org.apache.spark.sql.connector.read.PartitionReaderFactory
import org.apache.spark.sql.connector.read.streaming._

/** A connector's source on the driver, as a [[SourceStream]] uses it: its identity, the format of its positions, and its
  * [[Supply]]. The stream does the rest.
  */
trait Source[P] extends PositionCodec[P] {

  /** The name in Spark's progress. */
  def name: String

  /** The limit of one batch, unless Spark sets another. */
  def limit: ReadLimit

  /** The column with a row's event time, if the user set one: its highest value is kept in the offsets. */
  def eventTimeColumn: Option[String] = None

  /** The position before the first row. Called once in the life of a query, unless it is constant. */
  def first: P

  /** Whether `first` is the same whenever it is called. */
  def isFirstConstant: Boolean = false

  /** A sentence for the log: what an earlier start of another source has left outside of the checkpoint, if it failed before anything
    * was read.
    *
    * @param first
    *   its first position, as JSON
    */
  def remains(first: String): Option[String] = None

  /** Opens what the source holds until `supply.close`, such as a port. Called before the first batch, when the whole plan exists: if
    * planning fails, Spark stops none of the streams that it has created. A source that cannot open is opened again by the next call.
    *
    * @param start
    *   of the first batch
    * @param logged
    *   the last position that Spark has logged
    */
  def open(start: P, logged: P): Unit = ()

  /** The application ends, and may never stop the query: releases what must not be held any longer. Called by a thread of Spark,
    * also while others use the source.
    */
  def applicationEnded(): Unit = ()

  /** The supply, for the life of the stream. */
  def supply: Supply[P]

  /** Reads any partition that the supply plans. Spark calls it before or after it has a batch planned. */
  def readerFactory: PartitionReaderFactory

  /** The limits of a poll, for supplies that receive rows. */
  def polls: PollBudgets = PollBudgets.Unbounded

  /** The amount received since the start of the run, for people who wait for a poll; None if polls are quick. */
  def received: Option[String] = None

  /** The source's own entries in every progress, beside or in place of the lag; numbers are in Spark's metrics system, too.
    * Called by any thread.
    */
  def metrics(rowsBehind: Option[Long]): Map[String, String]
}
