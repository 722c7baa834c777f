package io.epochal.rest.http

import java.time.{Duration, Instant}

import org.scalatest.funsuite.AnyFunSuite

final class ThrottleSuite extends AnyFunSuite {

  private val now = Instant.parse("2026-01-01T00:00:00Z")

  private def exhausted(headers: (String, String)*): Option[Long] = {
    val lower = headers.map { case (name, value) => name.toLowerCase(java.util.Locale.ROOT) -> value }.toMap
    Throttle.exhausted(name => lower.get(name.toLowerCase(java.util.Locale.ROOT)), now).map(_.toMillis)
  }

  test("Retry-After is seconds or a date; zero and dates in the past count as absent") {
    assert(Throttle.retryAfter("7", now).contains(Duration.ofSeconds(7)))
    assert(Throttle.retryAfter(" Thu, 01 Jan 2026 00:01:00 GMT ", now).contains(Duration.ofSeconds(60)))
    assert(Throttle.retryAfter("9223372036854775807", now).exists(_.toDays > 1))
    Seq("0", "-5", "Wed, 31 Dec 2025 23:59:59 GMT", "soon", "").foreach(text =>
      assert(Throttle.retryAfter(text, now).isEmpty, text))
  }

  test("an exhausted rate limit causes a wait, in every form of the headers") {
    val inAMinute = now.getEpochSecond + 60
    Seq(
      Seq("RateLimit" -> "\"default\";r=0;t=30") -> 30000L,
      Seq("RateLimit" -> "\"burst\";r=0;t=5, \"day\";r=0;t=3600") -> 3600000L,
      Seq("RateLimit" -> "\"burst\";r=0;t=5, \"day\";r=9;t=3600") -> 5000L,
      Seq("RateLimit" -> "limit=100, remaining=0, reset=50") -> 50000L,
      Seq("RateLimit-Remaining" -> "0", "RateLimit-Reset" -> "12") -> 12000L,
      Seq("x-ratelimit-remaining" -> "0", "x-ratelimit-reset" -> s"$inAMinute") -> 60000L,
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> s"${inAMinute * 1000 + 500}") -> 60500L,
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "1.5") -> 1500L,
      Seq("x-rate-limit-remaining" -> "0", "x-rate-limit-reset" -> s"$inAMinute") -> 60000L
    ).foreach { case (headers, wait) => assert(exhausted(headers: _*).contains(wait), headers) }
  }

  test("no wait while requests remain, or if the headers are invalid") {
    Seq(
      Seq.empty,
      Seq("RateLimit" -> "\"default\";r=1;t=30"),
      Seq("RateLimit" -> "limit=100, remaining=10, reset=50"),
      Seq("RateLimit" -> "0"),
      Seq("RateLimit-Remaining" -> "10", "RateLimit-Reset" -> "12"),
      Seq("X-RateLimit-Remaining" -> "0"),
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "tomorrow"),
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "0"),
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> s"${now.getEpochSecond - 5}"),
      Seq("X-RateLimit-Remaining" -> "none", "X-RateLimit-Reset" -> "5")
    ).foreach(headers => assert(exhausted(headers: _*).isEmpty, headers))
  }
}
