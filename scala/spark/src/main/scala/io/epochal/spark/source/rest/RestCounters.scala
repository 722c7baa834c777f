package io.epochal.spark.source.rest

import java.util.concurrent.atomic.AtomicLongArray

import org.apache.spark.util.AccumulatorV2

/** What the queries' requests came to. An accumulator: what tasks count reaches the driver, and so the progress. */
final private[rest] case class RestCounts(
    requests: Long,
    retries: Long,
    throttled: Long,
    waitedMillis: Long,
    bytes: Long)

final private[rest] class RestCounters extends AccumulatorV2[RestCounts, RestCounts] {
  import RestCounters._

  // Threads that fetch ahead add to it while Spark reads it.
  private val counts = new AtomicLongArray(Size)

  def request(): Unit = count(Requests, 1)

  def received(bytes: Long): Unit = count(Bytes, bytes)

  def throttle(): Unit = count(Throttled, 1)

  def retry(waitMillis: Long): Unit = {
    count(Retries, 1)
    count(WaitedMillis, waitMillis)
  }

  override def add(more: RestCounts): Unit = {
    count(Requests, more.requests)
    count(Retries, more.retries)
    count(Throttled, more.throttled)
    count(WaitedMillis, more.waitedMillis)
    count(Bytes, more.bytes)
  }

  override def value: RestCounts =
    RestCounts(
      counts.get(Requests),
      counts.get(Retries),
      counts.get(Throttled),
      counts.get(WaitedMillis),
      counts.get(Bytes))

  override def merge(other: AccumulatorV2[RestCounts, RestCounts]): Unit = add(other.value)

  override def isZero: Boolean = (0 until Size).forall(counts.get(_) == 0L)

  override def reset(): Unit = (0 until Size).foreach(counts.set(_, 0L))

  override def copy(): RestCounters = {
    val same = new RestCounters
    same.add(value)
    same
  }

  private def count(index: Int, n: Long): Unit = {
    counts.addAndGet(index, n)
    ()
  }
}

private object RestCounters {
  private val Requests = 0
  private val Retries = 1
  private val Throttled = 2
  private val WaitedMillis = 3
  private val Bytes = 4
  private val Size = 5
}
