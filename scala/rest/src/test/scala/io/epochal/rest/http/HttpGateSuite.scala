package io.epochal.rest.http

import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}

import scala.collection.mutable

import org.scalatest.funsuite.AnyFunSuite

final class HttpGateSuite extends AnyFunSuite {

  /** A clock that advances only in `sleep`. */
  final private class ManualClock extends HttpGate.Clock {
    var now = 1L
    var whileAsleep: () => Unit = () => ()
    override def nanos(): Long = now
    override def sleep(nanos: Long): Unit = {
      val wake = now + nanos
      whileAsleep()
      now = math.max(now, wake)
    }
    def millis: Long = TimeUnit.NANOSECONDS.toMillis(now)
  }

  final private class Gated(budget: HttpBudget, shares: HttpBudget*) {
    val clock = new ManualClock
    val gate = new HttpGate(budget, clock, () => 0.5)
    shares.foreach(gate.open)

    /** The start time of a request, in milliseconds. */
    def start(): Long = {
      gate.enter()
      gate.leave()
      clock.millis
    }
  }

  private def rate(perSecond: Double) = HttpBudget(Some(perSecond), None)
  private def concurrency(max: Int) = HttpBudget(None, Some(max))

  test("requests start evenly, and unused slots are not saved up") {
    val gated = new Gated(rate(10), rate(10))
    assert(Seq.fill(4)(gated.start()) == Seq(0, 100, 200, 300))
    gated.clock.now += TimeUnit.SECONDS.toNanos(60)
    assert(Seq.fill(3)(gated.start()) == Seq(60300, 60400, 60500))
  }

  test("without a budget nothing waits") {
    val gated = new Gated(HttpBudget.Unlimited, HttpBudget.Unlimited)
    assert(Seq.fill(100)(gated.start()).toSet == Set(0L))
  }

  test("an executor's rate is the sum of the shares of its open tasks") {
    val gated = new Gated(rate(10), rate(10).shares(4).take(2): _*)
    assert(Seq.fill(3)(gated.start()) == Seq(0, 200, 400))
    gated.gate.close(rate(10).shares(4).head)
    assert(Seq.fill(3)(gated.start()) == Seq(600, 1000, 1400))
  }

  test("the driver's share and the tasks' shares together do not exceed the budget") {
    val gated = new Gated(rate(10), rate(10) +: rate(10).shares(4): _*)
    assert(Seq.fill(3)(gated.start()) == Seq(0, 100, 200))
  }

  test("queries of one budgetName share a gate, with the lower limits of both") {
    def gate(query: String, budget: HttpBudget) = HttpGate.open(query, "http://h", budget)
    val first = gate("budgetName=a", rate(10))
    val second = gate("budgetName=a", HttpBudget(Some(5), Some(1)))
    val other = gate("budgetName=b", rate(10))
    assert((first.value eq second.value) && (first.value ne other.value))
    Seq(first, second, other).foreach(_.close())
    val gated = new Gated(rate(10), rate(10), rate(5))
    gated.gate.limit(rate(5))
    assert(Seq.fill(3)(gated.start()) == Seq(0, 200, 400))
  }

  test("a share for another client of a task adds nothing to the task's own") {
    val share = rate(10).shares(2).head
    val gated = new Gated(rate(10), share, share.nothing)
    assert(Seq.fill(3)(gated.start()) == Seq(0, 200, 400))
  }

  test("a pause holds all requests, which resume at random moments") {
    val gated = new Gated(HttpBudget.Unlimited)
    gated.gate.pause(Duration.ofSeconds(3), Duration.ofMillis(200))
    assert(Seq.fill(2)(gated.start()) == Seq(3100, 3100))
  }

  test("a pause that ends earlier than the current one changes nothing") {
    val gated = new Gated(HttpBudget.Unlimited)
    gated.gate.pause(Duration.ofSeconds(3), Duration.ZERO)
    gated.gate.pause(Duration.ofSeconds(1), Duration.ofSeconds(1))
    assert(gated.start() == 3000)
  }

  test("a pause also holds requests that are already waiting to start") {
    val gated = new Gated(rate(1), rate(1))
    assert(gated.start() == 0)
    val once = mutable.Queue(() => gated.gate.pause(Duration.ofSeconds(5), Duration.ZERO))
    gated.clock.whileAsleep = () => if (once.nonEmpty) once.dequeue()()
    assert(gated.start() == 5000)
    assert(gated.start() == 6000)
  }

  test("concurrent requests never exceed the budget") {
    val gate = new HttpGate(concurrency(3))
    concurrency(3).shares(2).foreach(gate.open)
    val running = new AtomicInteger
    val peak = new AtomicInteger
    val threads = Executors.newFixedThreadPool(8)
    (1 to 8).foreach { _ =>
      threads.submit[Unit](() =>
        (1 to 200).foreach { _ =>
          gate.enter()
          peak.accumulateAndGet(running.incrementAndGet(), math.max(_, _))
          Thread.`yield`()
          running.decrementAndGet()
          gate.leave()
        })
    }
    threads.shutdown()
    assert(threads.awaitTermination(60, TimeUnit.SECONDS))
    assert(peak.get <= 3 && peak.get >= 1)
  }

  test("an interrupted wait consumes no slot") {
    val gate = new HttpGate(concurrency(1))
    gate.enter()
    val interrupted = new CountDownLatch(1)
    val waiting = new Thread(() =>
      try { val _ = gate.enter() }
      catch { case _: InterruptedException => interrupted.countDown() })
    waiting.start()
    waiting.interrupt()
    assert(interrupted.await(60, TimeUnit.SECONDS))
    gate.leave()
    assert(gate.enter() >= 0)
  }
}
