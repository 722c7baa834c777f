package io.epochal.kit.sink

import org.scalatest.funsuite.AnyFunSuite

final class TaskMetricsSuite extends AnyFunSuite {

  private val second = 1000000000L

  test("the time of encoding is estimated from a sample, and the first row, which loads classes, is not in it") {
    var now = 0L
    val metrics = new TaskMetrics(() => now)
    assert(!metrics.isSampled(0))
    val sampled = (0L until 1280L).filter(metrics.isSampled)
    assert(sampled.size == 10)
    sampled.foreach(_ => metrics.sample(1000))
    now = second
    assert(metrics.encodeNanos(1280) == 1280000)
  }

  test("a pause in a row that is measured makes no task look longer than it was") {
    var now = 0L
    val metrics = new TaskMetrics(() => now)
    metrics.sample(30 * second)
    now = 31 * second
    assert(metrics.encodeNanos(1000000) == 31 * second)
  }

  test("a task too small for a sample reports no time") {
    assert(new TaskMetrics().encodeNanos(3) == 0)
  }
}
