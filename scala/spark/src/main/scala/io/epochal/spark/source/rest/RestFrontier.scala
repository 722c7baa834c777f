package io.epochal.spark.source.rest

import org.slf4j.LoggerFactory

import io.epochal.core.error.Conditions
import io.epochal.spark.http.{BodyBuffer, HttpClient, HttpCounters}

/** The driver's view of the API: how many records it has, as far as that was asked. One thread at a time.
  *
  * Nothing is asked for that was seen before: records are only ever added at the end, and one that is gone after all is
  * noticed by the task that cannot read it.
  */
final private[rest] class RestFrontier(options: RestOptions, counters: HttpCounters) {
  private val client = new HttpClient(options.http, counters)
  private val buffer = new BodyBuffer
  private val finder = new EndFinder(options.pagination, count, options.mismatch)
  private var seen = Extent(0)
  private var contacted = false
  private var warned = false

  /** What the last look found; None before the first. */
  def known: Option[Extent] = Option.when(contacted)(seen)

  /** Records that exist, counted from 0, as far as `most` after `start`. Never below `start`.
    *
    * @throws EpochalException
    *   DATA_LOSS, where the API has fewer than `start` records
    */
  def exists(start: Long, most: Long): Long = {
    val target = if (start > Long.MaxValue - most) Long.MaxValue else start + most
    if (seen.exists < target || !contacted) {
      seen = finder.find(start, most)
      if (seen.ends < start) lost(seen.ends, start)
    }
    math.max(start, math.min(seen.exists, target))
  }

  /** Asks for one record, so that a server that does not answer is found before tasks are started. */
  def contact(record: Long): Unit =
    if (!contacted) {
      val _ = count(options.pagination.request(record, record + 1))
    }

  private def lost(has: Long, start: Long): Unit = {
    val loss = Conditions.DataLoss(
      "source" -> options.source,
      "from" -> has,
      "until" -> start,
      "reason" -> s"the API has only $has records left")
    if (options.failOnDataLoss) throw loss
    if (!warned) RestFrontier.log.warn(s"Going on when there are more than $start records again. ${loss.getMessage}")
    warned = true
  }

  private def count(request: PageRequest): Long = {
    val records =
      client.call(options.call(request), buffer, !contacted)(_ => options.rules.format.count(buffer, options.endpoint))
    contacted = true
    records
  }
}

private object RestFrontier {
  private val log = LoggerFactory.getLogger(classOf[RestFrontier])
}
