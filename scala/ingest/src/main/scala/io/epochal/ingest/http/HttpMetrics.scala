package io.epochal.ingest.http

import io.epochal.ingest.http.body.Refusal

/** What a listener tells of itself, for progress and for Prometheus. */
final private[http] class HttpMetrics(
    shared: Shared,
    connections: () => Int,
    gauges: () => Seq[(String, String, Long)]) {
  import shared.counters

  /** Entries for the query's progress. Most requests that find the journal full never reach it, so they are counted here. */
  def ofProgress: Map[String, String] = Map(
    "connections" -> connections().toString,
    "requests" -> counters.byStatus.map(_._2).sum.toString,
    "refused" -> counters.byReason.map(_._2).sum.toString,
    "refusedFull" -> counters.refusals(Refusal.Full).toString)

  def prometheus: String = {
    val text = new PrometheusText
    text.counter("epochal_ingest_http_requests_total", "Requests with records that got a response, by its status.")(
      counters.byStatus.map { case (status, n) => Seq("status" -> status.toString) -> Long.box(n) }: _*)
    text.counter("epochal_ingest_http_refused_total", "Requests and connections that were refused, by reason.")(
      counters.byReason.map { case (reason, n) => Seq("reason" -> reason) -> Long.box(n) }: _*)
    text.counter("epochal_ingest_http_records_total", "Records that were stored and acknowledged.")(
      Nil -> Long.box(counters.records.sum))
    text.counter("epochal_ingest_http_bytes_total", "Bytes of those records.")(Nil -> Long.box(counters.bytes.sum))
    text.counter("epochal_ingest_http_duplicates_total", "Requests whose key was stored before.")(
      Nil -> Long.box(counters.duplicates.sum))
    text.gauge("epochal_ingest_http_connections", "Open connections.")(Int.box(connections()))
    text.gauge("epochal_ingest_http_buffered_bytes", "Memory for bodies in use.")(Long.box(shared.budget.usedBytes))
    gauges().foreach { case (name, help, value) => text.gauge(name, help)(Long.box(value)) }
    val (buckets, count) = counters.latencies
    text.histogram("epochal_ingest_http_ack_seconds", "From the last byte of a request to its acknowledgement.")(
      buckets,
      count,
      counters.latencySeconds)
    text.result()
  }
}
