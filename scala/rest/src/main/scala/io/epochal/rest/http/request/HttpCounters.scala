package io.epochal.rest.http.request

import java.util.concurrent.atomic.AtomicLongArray

import org.apache.spark.util.AccumulatorV2

/** @param pages
  *   responses that tasks have taken records from
  * @param malformed
  *   records in them that do not fit
  */
final private[epochal] case class HttpCounts(
    pages: Long,
    requests: Long,
    retries: Long,
    throttled: Long,
    waitedMillis: Long,
    bytes: Long,
    malformed: Long)

/** What the queries' requests came to. An accumulator: what tasks count reaches the driver, and so the progress. */
final private[epochal] class HttpCounters extends AccumulatorV2[HttpCounts, HttpCounts] {
  import HttpCounters._

  // Threads that fetch ahead add to it while Spark reads it.
  private val counts = new AtomicLongArray(Size)

  def read(pages: Long): Unit = count(Pages, pages)

  def misfits(records: Long): Unit = count(Malformed, records)

  def request(): Unit = count(Requests, 1)

  def received(bytes: Long): Unit = count(Bytes, bytes)

  def throttle(): Unit = count(Throttled, 1)

  def retry(waitMillis: Long): Unit = {
    count(Retries, 1)
    count(WaitedMillis, waitMillis)
  }

  def waited(millis: Long): Unit = if (millis > 0) count(WaitedMillis, millis)

  override def add(more: HttpCounts): Unit = {
    count(Pages, more.pages)
    count(Requests, more.requests)
    count(Retries, more.retries)
    count(Throttled, more.throttled)
    count(WaitedMillis, more.waitedMillis)
    count(Bytes, more.bytes)
    count(Malformed, more.malformed)
  }

  override def value: HttpCounts =
    HttpCounts(
      counts.get(Pages),
      counts.get(Requests),
      counts.get(Retries),
      counts.get(Throttled),
      counts.get(WaitedMillis),
      counts.get(Bytes),
      counts.get(Malformed))

  override def merge(other: AccumulatorV2[HttpCounts, HttpCounts]): Unit = add(other.value)

  override def isZero: Boolean = (0 until Size).forall(counts.get(_) == 0L)

  override def reset(): Unit = (0 until Size).foreach(counts.set(_, 0L))

  override def copy(): HttpCounters = {
    val same = new HttpCounters
    same.add(value)
    same
  }

  private def count(index: Int, n: Long): Unit = {
    counts.addAndGet(index, n)
    ()
  }
}

private object HttpCounters {
  private val Requests = 0
  private val Retries = 1
  private val Throttled = 2
  private val WaitedMillis = 3
  private val Bytes = 4
  private val Pages = 5
  private val Malformed = 6
  private val Size = 7
}
