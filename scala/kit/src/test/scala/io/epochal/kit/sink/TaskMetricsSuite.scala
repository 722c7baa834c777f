package io.epochal.kit.sink

import org.scalatest.funsuite.AnyFunSuite

final class TaskMetricsSuite extends AnyFunSuite {

  private val second = 1000000000L

  test("the encoding time is estimated from a sample that excludes the first row, which loads classes") {
    var now = 0L
    val metrics = new TaskMetrics(() => now)
    assert(!metrics.isSampled(0))
    val sampled = (0L until 1280L).filter(metrics.isSampled)
    assert(sampled.size == 10)
    sampled.foreach(_ => metrics.sample(1000))
    now = second
    assert(metrics.encodeNanos(1280) == 1280000)
  }

  test("a pause in a sampled row does not make the estimate exceed the task's own time") {
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
