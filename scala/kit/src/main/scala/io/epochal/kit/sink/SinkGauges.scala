package io.epochal.kit.sink

import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import io.epochal.kit.spark.QueryMetrics

/** What a sink shows in Spark's metrics system: the same for every sink, and what is peculiar to one. One for each start of a query.
  *
  * @param more
  *   asked by any thread; the names are always the same, NaN where a value is not known
  */
final private[epochal] class SinkGauges(more: => Map[String, Double], nanos: () => Long = () => System.nanoTime()) {
  private val shown = new AtomicBoolean
  private val epochs = new AtomicLong
  private val rows = new AtomicLong
  private val badRows = new AtomicLong
  private val repeated = new AtomicLong
  private val lastEnd = new AtomicLong(nanos())
  @volatile private var epoch = Double.NaN

  /** Shows them for the query of this thread, the first time that it is called.
    *
    * @param sink
    *   its `sinkId`, else the name of its format
    */
  def show(sink: String): Unit = if (shown.compareAndSet(false, true))
    QueryMetrics.show(Seq("sink", sink), values.keys)(name => values(name))

  /** An epoch has written `rows`, and put `badRows` aside. */
  def written(epoch: Long, rows: Long, badRows: Long): Unit = {
    this.rows.addAndGet(rows): Unit
    this.badRows.addAndGet(badRows): Unit
    epochs.incrementAndGet(): Unit
    ended(epoch)
  }

  /** An epoch is there that was begun before: by a replay. */
  def replayed(): Unit = repeated.incrementAndGet(): Unit

  def ended(epoch: Long): Unit = {
    this.epoch = epoch.toDouble
    lastEnd.set(nanos())
  }

  def totalRows: Long = rows.get

  def totalEpochs: Long = epochs.get

  def repeatedEpochs: Long = repeated.get

  private def values: Map[String, Double] = Map(
    "epoch" -> epoch,
    "totalEpochs" -> epochs.get.toDouble,
    "totalRows" -> rows.get.toDouble,
    "totalBadRows" -> badRows.get.toDouble,
    "repeatedEpochs" -> repeated.get.toDouble,
    "secondsSinceEpoch" -> (nanos() - lastEnd.get) / 1e9
  ) ++ more
}
