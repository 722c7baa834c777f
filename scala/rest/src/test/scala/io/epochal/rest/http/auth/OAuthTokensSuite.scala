package io.epochal.rest.http.auth

import java.time.{Clock, Duration, Instant, ZoneId, ZoneOffset}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually.{eventually, timeout}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Seconds, Span}

import io.epochal.core.error.{Conditions, EpochalException}

final class OAuthTokensSuite extends AnyFunSuite {

  private val start = Instant.parse("2026-01-01T00:00:00Z")

  final private class ManualClock extends Clock {
    @volatile var now: Instant = start
    override def instant(): Instant = now
    override def getZone: ZoneId = ZoneOffset.UTC
    override def withZone(zone: ZoneId): Clock = this
  }

  private def grant(text: String, clock: Clock, life: Option[Duration] = None, refresh: Option[String] = None): Grant =
    Grant(AccessToken(text, clock.instant(), life.map(clock.instant().plus(_))), refresh)

  private def refusal: EpochalException =
    Conditions.OAuthRefused("url" -> "http://h/token", "reason" -> "invalid_client")

  /** Runs `body` in so many threads, the first one until `release`, and the others while it is held up. */
  private def together(threads: Int, held: CountDownLatch, release: CountDownLatch)(body: => Unit): Unit = {
    val all = (1 to threads).map(_ => new Thread(() => body))
    all.head.start()
    assert(held.await(20, TimeUnit.SECONDS))
    all.tail.foreach(_.start())
    eventually(timeout(Span(20, Seconds)))(assert(all.tail.forall(_.getState == Thread.State.WAITING)))
    release.countDown()
    all.foreach(_.join(60000))
  }

  test("a token is used until a minute before it expires, or for nine tenths of a short life") {
    Seq(Duration.ofHours(1) -> Duration.ofMinutes(59), Duration.ofSeconds(100) -> Duration.ofSeconds(90)).foreach {
      case (life, use) =>
        val token = AccessToken("t", start, Some(start.plus(life)))
        assert(token.isFresh(start) && token.isFresh(start.plus(use).minusMillis(1)))
        assert(!token.isFresh(start.plus(use)))
    }
    assert(AccessToken("t", start, None).isFresh(start.plus(Duration.ofDays(10000))))
  }

  test("tasks that need a token at the same time are one request, and the next one comes before the token expires") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val (held, release, asked) = (new CountDownLatch(1), new CountDownLatch(1), new AtomicInteger)
    val got = new ConcurrentLinkedQueue[String]
    val request = (_: Asking) => {
      val number = asked.incrementAndGet()
      held.countDown()
      assert(release.await(60, TimeUnit.SECONDS))
      grant(s"t$number", clock, Some(Duration.ofHours(1)))
    }
    together(8, held, release) { val _ = got.add(tokens.token(request).text) }
    assert(asked.get == 1 && got.asScala.toSeq == Seq.fill(8)("t1"))
    clock.now = start.plus(Duration.ofMinutes(58))
    assert(tokens.token(request).text == "t1")
    clock.now = start.plus(Duration.ofMinutes(59))
    assert(tokens.token(request).text == "t2")
  }

  test("a failure is that of all tasks that waited for it, and of none that comes later") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val (held, release, asked) = (new CountDownLatch(1), new CountDownLatch(1), new AtomicInteger)
    val failed = new AtomicInteger
    together(8, held, release) {
      try {
        val _ = tokens.token { _ =>
          asked.incrementAndGet()
          held.countDown()
          assert(release.await(60, TimeUnit.SECONDS))
          throw refusal
        }
      } catch { case _: EpochalException => val _ = failed.incrementAndGet() }
    }
    assert(asked.get == 1 && failed.get == 8)
    assert(tokens.token(_ => grant("later", clock)).text == "later")
  }

  test("a token that was refused is not used again, and refusing it twice costs one renewal") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val asked = new AtomicInteger
    def next(): AccessToken = tokens.token(_ => grant(s"t${asked.incrementAndGet()}", clock))
    val first = next()
    tokens.reject(first)
    val second = next()
    tokens.reject(first)
    assert(first.text == "t1" && second.text == "t2" && next() == second && asked.get == 2)
  }

  test("a refresh token that the server replaces is the one that counts from then on") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val seen = mutable.Buffer.empty[Asking]
    Seq(Some("r1"), None, Some("r2"), None).foreach { replaced =>
      tokens.reject(tokens.token { asking =>
        seen += asking
        grant("t", clock, refresh = replaced)
      })
    }
    assert(seen.map(_.refreshToken) == Seq(None, Some("r1"), Some("r1"), Some("r2")))
    assert(seen.map(_.first) == Seq(true, false, false, false))
  }

  test("no text of a token shows it") {
    val clock = new ManualClock
    val all = grant("s3cret", clock, refresh = Some("s3cret"))
    assert(!s"$all ${all.token}".contains("s3cret"))
  }
}
