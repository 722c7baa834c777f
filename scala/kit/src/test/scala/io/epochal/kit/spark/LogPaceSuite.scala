package io.epochal.kit.spark

import java.util.concurrent.TimeUnit

import org.scalatest.funsuite.AnyFunSuite

final class LogPaceSuite extends AnyFunSuite {

  test("a line is due a minute after the start, and a minute after each previous line") {
    var second = 100L
    val pace = new LogPace(() => TimeUnit.SECONDS.toNanos(second))
    def dueAt(at: Long): Boolean = {
      second = at
      pace.isDue()
    }
    assert(Seq(100L, 159L, 160L, 161L, 219L, 230L, 289L, 290L).filter(dueAt) == Seq(160L, 230L, 290L))
  }
}
