package io.epochal.core.retry

import java.io.IOException
import java.time.Duration

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

final class RetrierSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val quick = RetrySettings(5, Duration.ofNanos(1000), Duration.ofMillis(2), Duration.ofMinutes(1))
  private val retryAll: Throwable => Verdict = _ => Verdict.Retry

  test("the bound doubles with every failure and never passes the maximum") {
    val settings = RetrySettings(9, Duration.ofMillis(100), Duration.ofSeconds(1), Duration.ofMinutes(1))
    assert((1 to 6).map(settings.bound(_).toMillis) == Seq(100, 200, 400, 800, 1000, 1000))
    forAll(Gen.choose(1, 10000))(n => assert(settings.bound(n).compareTo(settings.maxDelay) <= 0))
  }

  test("a success after failures is the result, and each failure is reported once") {
    val events = mutable.Buffer.empty[RetryEvent]
    val result = new Retrier(quick, retryAll, events += _).run { failures =>
      if (failures < 3) throw new IOException(s"try $failures") else failures
    }
    assert(result == 3)
    assert(events.map(_.failures) == Seq(1, 2, 3))
    assert(events.map(_.cause.getMessage) == Seq("try 0", "try 1", "try 2"))
  }

  test("the last failure is thrown unchanged, after the maximum number of attempts") {
    var tries = 0
    val error = intercept[IOException](new Retrier(quick, retryAll).run[Int] { _ =>
      tries += 1; throw new IOException(s"$tries")
    })
    assert(tries == 5 && error.getMessage == "5")
  }

  test("a permanent failure is not retried") {
    var tries = 0
    val classify: Throwable => Verdict = { case _: IOException => Verdict.Retry; case _ => Verdict.GiveUp }
    intercept[IllegalStateException](new Retrier(quick, classify).run[Int] { _ =>
      tries += 1; throw new IllegalStateException
    })
    assert(tries == 1)
  }

  test("the delay is drawn from zero to the bound") {
    forAll(Gen.choose(0.0, 0.999)) { draw =>
      val delays = mutable.Buffer.empty[Duration]
      new Retrier(quick, retryAll, e => delays += e.delay, () => draw).run(n => if (n < 2) throw new IOException else n)
      assert(delays.map(_.toNanos) == Seq((1000 * draw).toLong, (2000 * draw).toLong))
    }
  }

  test("the server's minimum delay is kept, and the random delay added") {
    def delayFor(asked: Duration): Duration = {
      var seen = Duration.ZERO
      new Retrier(quick, _ => Verdict.RetryAfter(asked), e => seen = e.delay, () => 0.5)
        .run(n => if (n < 1) throw new IOException else n)
      seen
    }
    assert(delayFor(Duration.ofNanos(5000)) == Duration.ofNanos(5500))
    assert(delayFor(quick.maxDelay) == quick.maxDelay.plusNanos(500))
  }

  test("the deadline ends the attempts before their maximum") {
    val settings = RetrySettings(Int.MaxValue, Duration.ofMillis(1), Duration.ofMillis(1), Duration.ofMillis(50))
    val begin = System.nanoTime()
    intercept[IOException](new Retrier(settings, retryAll).run[Int](_ => throw new IOException))
    assert(Duration.ofNanos(System.nanoTime() - begin).compareTo(Duration.ofSeconds(20)) < 0)
  }

  test("the first attempt counts against the deadline") {
    val settings = quick.copy(deadline = Duration.ofMillis(20))
    var tries = 0
    intercept[IOException](new Retrier(settings, retryAll).run[Int] { _ =>
      tries += 1; Thread.sleep(30); throw new IOException
    })
    assert(tries == 1)
  }
}
