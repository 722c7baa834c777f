package io.epochal.rest.http

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

  private def grant(
      text: String,
      clock: Clock,
      life: Option[Duration] = None,
      refresh: Option[String] = None): OAuthGrant =
    OAuthGrant(AccessToken(text, clock.instant(), life.map(clock.instant().plus(_))), refresh)

  private def refusal: EpochalException =
    Conditions.OAuthRefused("url" -> "http://h/token", "reason" -> "invalid_client")

  /** Runs `body` in several threads: the first one blocks until `release`, the others wait for it. */
  private def together(threads: Int, held: CountDownLatch, release: CountDownLatch)(body: => Unit): Unit = {
    val all = (1 to threads).map(_ => new Thread(() => body))
    all.head.start()
    assert(held.await(20, TimeUnit.SECONDS))
    all.tail.foreach(_.start())
    eventually(timeout(Span(20, Seconds)))(assert(all.tail.forall(_.getState == Thread.State.WAITING)))
    release.countDown()
    all.foreach(_.join(60000))
  }

  test("a token is used until a minute before it expires, or for nine tenths of a short lifetime") {
    Seq(Duration.ofHours(1) -> Duration.ofMinutes(59), Duration.ofSeconds(100) -> Duration.ofSeconds(90)).foreach {
      case (life, use) =>
        val token = AccessToken("t", start, Some(start.plus(life)))
        assert(token.isFresh(start) && token.isFresh(start.plus(use).minusMillis(1)))
        assert(!token.isFresh(start.plus(use)))
    }
    assert(AccessToken("t", start, None).isFresh(start.plus(Duration.ofDays(10000))))
  }

  test("concurrent tasks share one token request, and the token is renewed before it expires") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val (held, release, requests) = (new CountDownLatch(1), new CountDownLatch(1), new AtomicInteger)
    val got = new ConcurrentLinkedQueue[String]
    val request = (_: Option[String], _: Boolean) => {
      val number = requests.incrementAndGet()
      held.countDown()
      assert(release.await(60, TimeUnit.SECONDS))
      grant(s"t$number", clock, Some(Duration.ofHours(1)))
    }
    together(8, held, release) { val _ = got.add(tokens.token(request).text) }
    assert(requests.get == 1 && got.asScala.toSeq == Seq.fill(8)("t1"))
    clock.now = start.plus(Duration.ofMinutes(58))
    assert(tokens.token(request).text == "t1")
    clock.now = start.plus(Duration.ofMinutes(59))
    assert(tokens.token(request).text == "t2")
  }

  test("a failed token request fails all tasks that waited for it, and no later one") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val (held, release, requests) = (new CountDownLatch(1), new CountDownLatch(1), new AtomicInteger)
    val failed = new AtomicInteger
    together(8, held, release) {
      try {
        val _ = tokens.token { (_, _) =>
          requests.incrementAndGet()
          held.countDown()
          assert(release.await(60, TimeUnit.SECONDS))
          throw refusal
        }
      } catch { case _: EpochalException => val _ = failed.incrementAndGet() }
    }
    assert(requests.get == 1 && failed.get == 8)
    assert(tokens.token((_, _) => grant("later", clock)).text == "later")
  }

  test("a rejected token is not used again, and rejecting it twice causes one renewal") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val requests = new AtomicInteger
    def next(): AccessToken = tokens.token((_, _) => grant(s"t${requests.incrementAndGet()}", clock))
    val first = next()
    tokens.reject(first.text)
    val second = next()
    tokens.reject(first.text)
    assert(first.text == "t1" && second.text == "t2" && next() == second && requests.get == 2)
  }

  test("a refresh token from the server replaces the configured one") {
    val clock = new ManualClock
    val tokens = new OAuthTokens(clock)
    val seen = mutable.Buffer.empty[(Option[String], Boolean)]
    Seq(Some("r1"), None, Some("r2"), None).foreach { replaced =>
      tokens.reject(tokens.token { (refreshToken, first) =>
        seen += refreshToken -> first
        grant("t", clock, refresh = replaced)
      }.text)
    }
    assert(seen.map(_._1) == Seq(None, Some("r1"), Some("r1"), Some("r2")))
    assert(seen.map(_._2) == Seq(true, false, false, false))
  }

  test("toString of a token hides it") {
    val clock = new ManualClock
    val all = grant("s3cret", clock, refresh = Some("s3cret"))
    assert(!s"$all ${all.token}".contains("s3cret"))
  }
}
