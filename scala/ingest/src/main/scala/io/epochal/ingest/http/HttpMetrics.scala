package io.epochal.ingest.http

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

import io.epochal.ingest.http.body.Problem

/** Counters of a listener since its start, for the query's progress, for Prometheus and for the log. Thread-safe.
  *
  * @param warn
  *   logs numbers of refusals by reason
  */
final private[http] class HttpMetrics(warn: String => Unit) {

  /** Upper bounds of the histogram, in seconds. */
  private val LatencyBounds = Seq(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

  private val statuses = new ConcurrentHashMap[Int, LongAdder]
  private val reasons = new ConcurrentHashMap[String, LongAdder]
  private val buckets = Array.fill(LatencyBounds.size + 1)(new LongAdder)
  private val latencyNanos = new LongAdder

  private var before = Map.empty[String, Long]
  private var quietUntil = System.nanoTime()

  /** Whether the listener is being closed: refusals then are temporary. */
  @volatile var isStopping = false

  val records = new LongAdder
  val bytes = new LongAdder
  val duplicates = new LongAdder

  def countResponse(status: Int): Unit = statuses.computeIfAbsent(status, _ => new LongAdder).increment()

  def countRefusal(reason: String): Unit = reasons.computeIfAbsent(reason, _ => new LongAdder).increment()

  /** Counts an acknowledged request; `nanos` is the time since its last byte. */
  def countAcknowledgement(nanos: Long): Unit = {
    buckets(LatencyBounds.segmentLength(_ < nanos / 1e9)).increment()
    latencyNanos.add(nanos)
  }

  /** Logs the refusals since the last line, at most one line a minute but for the last. */
  def logRefused(now: Long, isLast: Boolean = false): Unit = synchronized {
    val counts = reasons.asScala.view.mapValues(_.sum).toMap - "stopping"
    val found = counts.toSeq.map { case (reason, n) => (n - before.getOrElse(reason, 0L), reason) }.filter(_._1 > 0)
    if (found.nonEmpty && (isLast || now - quietUntil >= 0)) {
      before = counts
      quietUntil = now + 60000000000L
      warn(found.sorted.reverse.map { case (n, reason) => s"$n $reason" }.mkString(", "))
    }
  }

  /** Entries for the query's progress. Most requests that are refused because the journal is full never reach it, so they are counted here. */
  def progress(connections: Int): Map[String, String] = Map(
    "connections" -> connections.toString,
    "requests" -> statuses.values.asScala.map(_.sum).sum.toString,
    "refused" -> reasons.values.asScala.map(_.sum).sum.toString,
    "refusedFull" -> Option(reasons.get(Problem.Full)).fold(0L)(_.sum).toString
  )

  /** Prometheus text format, version 0.0.4.
    *
    * @param gauges
    *   name, description and value of additional gauges
    */
  def prometheus(connections: Int, bufferedBytes: Long, gauges: Seq[(String, String, Long)]): String = {
    val text = new StringBuilder
    def family(name: String, kind: String, help: String)(samples: (String, Any)*): Unit = {
      text.append(s"# HELP $name $help\n# TYPE $name $kind\n"): Unit
      samples.foreach { case (suffix, value) => text.append(s"$name$suffix $value\n"): Unit }
    }
    def http(name: String, kind: String, help: String)(samples: (String, Any)*): Unit =
      family(s"epochal_ingest_http_$name", kind, help)(samples: _*)
    def labelledLines(label: String, counts: Seq[(Any, LongAdder)]) =
      counts.map { case (value, n) => s"""{$label="$value"}""" -> n.sum }

    http("requests_total", "counter", "Requests with records that got a response, by its status.")(
      labelledLines("status", statuses.asScala.toSeq.sortBy(_._1)): _*)
    http("refused_total", "counter", "Requests and connections that were refused, by reason.")(
      labelledLines("reason", reasons.asScala.toSeq.sortBy(_._1)): _*)
    http("records_total", "counter", "Records that were stored and acknowledged.")("" -> records.sum)
    http("bytes_total", "counter", "Bytes of those records.")("" -> bytes.sum)
    http("duplicates_total", "counter", "Requests whose key was stored before.")("" -> duplicates.sum)
    http("connections", "gauge", "Open connections.")("" -> connections)
    http("buffered_bytes", "gauge", "Memory for bodies in use.")("" -> bufferedBytes)
    gauges.foreach { case (name, help, value) => family(name, "gauge", help)("" -> value) }

    val sums = buckets.toSeq.map(_.sum).scanLeft(0L)(_ + _).tail
    val bounds = LatencyBounds.map(_.toString) :+ "+Inf"
    val latencies = bounds.zip(sums).map { case (bound, n) => s"""_bucket{le="$bound"}""" -> n }
    http("ack_seconds", "histogram", "From the last byte of a request to its acknowledgement.")(
      latencies :+ ("_sum" -> latencyNanos.sum / 1e9) :+ ("_count" -> sums.last): _*)
    text.result()
  }
}
