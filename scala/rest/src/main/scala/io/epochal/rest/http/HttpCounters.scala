package io.epochal.rest.http

import org.apache.spark.util.AccumulatorV2

/** Sums over requests.
  *
  * @param pages
  *   responses from which tasks have taken records
  * @param malformed
  *   records that do not fit the schema
  */
final private[epochal] case class HttpCounts(
    pages: Long = 0,
    requests: Long = 0,
    retries: Long = 0,
    throttled: Long = 0,
    waitedMillis: Long = 0,
    bytes: Long = 0,
    malformed: Long = 0) {

  def +(more: HttpCounts): HttpCounts = HttpCounts(
    pages + more.pages,
    requests + more.requests,
    retries + more.retries,
    throttled + more.throttled,
    waitedMillis + more.waitedMillis,
    bytes + more.bytes,
    malformed + more.malformed)
}

/** The sums of one query, as an accumulator: tasks' counts reach the driver and the query progress. Thread-safe. */
final private[epochal] class HttpCounters extends AccumulatorV2[HttpCounts, HttpCounts] {
  @volatile private var counts = HttpCounts()

  override def add(more: HttpCounts): Unit = synchronized(counts += more)

  override def value: HttpCounts = counts

  override def merge(other: AccumulatorV2[HttpCounts, HttpCounts]): Unit = add(other.value)

  override def isZero: Boolean = counts == HttpCounts()

  override def reset(): Unit = synchronized { counts = HttpCounts() }

  override def copy(): HttpCounters = {
    val same = new HttpCounters
    same.add(value)
    same
  }
}
