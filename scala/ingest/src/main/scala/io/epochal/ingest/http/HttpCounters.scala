package io.epochal.ingest.http

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.LongAdder

import scala.jdk.CollectionConverters._

/** What a listener has counted since it began. Any thread may count and read. */
final private[http] class HttpCounters {
  private val statuses = new ConcurrentHashMap[Int, LongAdder]
  private val reasons = new ConcurrentHashMap[String, LongAdder]
  private val buckets = Array.fill(HttpCounters.LatencyBounds.size + 1)(new LongAdder)
  private val latencyNanos = new LongAdder

  val records = new LongAdder
  val bytes = new LongAdder
  val duplicates = new LongAdder

  def answered(status: Int): Unit = statuses.computeIfAbsent(status, _ => new LongAdder).increment()

  def refused(reason: String): Unit = reasons.computeIfAbsent(reason, _ => new LongAdder).increment()

  /** From the last byte of a request to what its sender may rely on. */
  def acknowledged(nanos: Long): Unit = {
    val seconds = nanos / 1e9
    val bucket = HttpCounters.LatencyBounds.indexWhere(seconds <= _)
    buckets(if (bucket < 0) buckets.length - 1 else bucket).increment()
    latencyNanos.add(nanos)
  }

  def byStatus: Seq[(Int, Long)] = statuses.asScala.toSeq.map { case (status, n) => status -> n.sum }.sortBy(_._1)

  /** How many were refused for a reason. */
  def refusals(reason: String): Long = Option(reasons.get(reason)).fold(0L)(_.sum)

  def byReason: Seq[(String, Long)] = reasons.asScala.toSeq.map { case (reason, n) => reason -> n.sum }.sortBy(_._1)

  /** How many latencies were at most each bound, and how many there were in all. */
  def latencies: (Seq[(Double, Long)], Long) = {
    val sums = buckets.toSeq.map(_.sum).scanLeft(0L)(_ + _).tail
    (HttpCounters.LatencyBounds.zip(sums), sums.last)
  }

  def latencySeconds: Double = latencyNanos.sum / 1e9
}

private object HttpCounters {

  /** Upper bounds of the histogram, in seconds. */
  val LatencyBounds: Seq[Double] =
    Seq(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
}
