package io.epochal.rest.http

import java.time.{Duration, Instant}
import java.util.Locale

import org.scalatest.funsuite.AnyFunSuite

final class ThrottleSuite extends AnyFunSuite {

  private val now = Instant.parse("2026-01-01T00:00:00Z")

  private def pause(status: Int, headers: (String, String)*): Pause = {
    val lower = headers.map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }.toMap
    Throttle.of(status, name => lower.get(name.toLowerCase(Locale.ROOT)), now)
  }

  private def exhausted(headers: (String, String)*): Option[Long] = pause(200, headers: _*).length.map(_.toMillis)

  private def retryAfter(text: String): Pause = pause(503, "Retry-After" -> text)

  test("Retry-After is seconds, with or without a fraction, or a date in one of the three forms of HTTP, or ISO 8601") {
    Seq(
      "7" -> 7000L,
      "40.5" -> 40500L,
      " 0.25 " -> 250L,
      "3." -> 3000L,
      " Thu, 01 Jan 2026 00:01:00 GMT " -> 60000L,
      "Thursday, 01-Jan-26 00:01:00 GMT" -> 60000L,
      "Thu Jan  1 00:01:00 2026" -> 60000L,
      "Sat Jan 10 00:00:00 2026" -> 9 * 86400000L,
      "2026-01-01T00:01:00Z" -> 60000L,
      "2026-01-01T01:01:00.5+01:00" -> 60500L,
      "2026-01-01 00:01:00 UTC" -> 60000L,
      s"${now.getEpochSecond + 30}" -> 30000L,
      s"${now.toEpochMilli + 1500}" -> 1500L
    ).foreach { case (text, wait) =>
      assert(retryAfter(text) == Pause(Some(Duration.ofMillis(wait))), text)
    }
    assert(retryAfter("9223372036854775807").length.exists(_.toDays > 1))
  }

  test("zero, and what is in the past, count as absent; what is no time is reported, and is not taken for no pause") {
    Seq("0", "0.0", "-5", "Wed, 31 Dec 2025 23:59:59 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "2025-01-01T00:00:00Z", "")
      .foreach(text => assert(retryAfter(text) == Pause(None), text))
    Seq("soon", "5m", "1e3", "NaN", "5, 6", "Thu, 99 Jan 2026 00:01:00 GMT", "Thu, 01 Foo 2026 00:01:00 GMT")
      .foreach(text => assert(retryAfter(text) == Pause(None, Seq("Retry-After" -> text)), text))
    val both = pause(429, "Retry-After" -> "soon", "Retry-After-Ms" -> "812.5")
    assert(both == Pause(Some(Duration.ofMillis(813)), Seq("Retry-After" -> "soon")))
  }

  test("a year of two digits is at most fifty years ahead") {
    Seq("94" -> 1994, "26" -> 2026, "76" -> 2076, "77" -> 1977).foreach { case (digits, year) =>
      val date = HttpDate.parse(s"Sunday, 06-Nov-$digits 08:49:37 GMT", now)
      assert(date.contains(Instant.parse(s"$year-11-06T08:49:37Z")))
    }
  }

  test("a refusal pauses for the longest of Retry-After and its milliseconds, or until a used up limit resets") {
    Seq(
      Seq("Retry-After-Ms" -> "1500") -> 1500L,
      Seq("Retry-After" -> "1", "X-Ms-Retry-After-Ms" -> "2500") -> 2500L,
      Seq("RateLimit-Reset" -> "12") -> 12000L,
      Seq("X-RateLimit-Reset" -> s"${now.getEpochSecond + 60}") -> 60000L,
      Seq("X-RateLimit-Reset" -> "2026-01-01T00:01:00Z") -> 60000L,
      Seq("X-RateLimit-Reset-After" -> "1.25", "X-RateLimit-Reset" -> s"${now.getEpochSecond + 60}") -> 1250L,
      Seq("Retry-After" -> "30", "X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "5") -> 30000L,
      Seq("Retry-After" -> "2", "X-RateLimit-Reset" -> "60") -> 2000L,
      Seq("Retry-After" -> "2", "X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "60") -> 2000L,
      Seq("Retry-After" -> "2", "RateLimit" -> "\"default\";r=0;t=30") -> 2000L,
      Seq("Retry-After" -> "0", "X-RateLimit-Reset" -> "60") -> 60000L
    ).foreach { case (headers, wait) => assert(pause(429, headers: _*).length.map(_.toMillis).contains(wait), headers) }
    assert(pause(429, "X-RateLimit-Remaining" -> "9", "X-RateLimit-Reset" -> "3600") == Pause(None))
    assert(pause(503, "X-RateLimit-Reset" -> "3600") == Pause(None))
    val both = Seq("Retry-After" -> "2", "X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "60")
    assert(pause(503, both: _*).length.contains(Duration.ofMinutes(1)))
    assert(pause(200, "Retry-After" -> "3600") == Pause(None))
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
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset-After" -> "0.3") -> 300L,
      Seq("RateLimit-Remaining" -> "0", "RateLimit-Reset" -> "Thu, 01 Jan 2026 00:01:00 GMT") -> 60000L,
      Seq("x-rate-limit-remaining" -> "0", "x-rate-limit-reset" -> s"$inAMinute") -> 60000L
    ).foreach { case (headers, wait) => assert(exhausted(headers: _*).contains(wait), headers) }
  }

  test("no wait while requests remain, or without a time") {
    Seq(
      Seq.empty,
      Seq("RateLimit" -> "\"default\";r=1;t=30"),
      Seq("RateLimit" -> "limit=100, remaining=10, reset=50"),
      Seq("RateLimit" -> "0"),
      Seq("RateLimit-Remaining" -> "10", "RateLimit-Reset" -> "12"),
      Seq("X-RateLimit-Remaining" -> "0"),
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> "0"),
      Seq("X-RateLimit-Remaining" -> "0", "X-RateLimit-Reset" -> s"${now.getEpochSecond - 5}"),
      Seq("X-RateLimit-Remaining" -> "none", "X-RateLimit-Reset" -> "5")
    ).foreach(headers => assert(pause(200, headers: _*) == Pause(None), headers))
    val later = "X-RateLimit-Reset" -> "tomorrow"
    assert(pause(200, "X-RateLimit-Remaining" -> "0", later) == Pause(None, Seq(later)))
  }

  test("a header that is read may demand a pause, in any case; others may not") {
    def read(status: Int): Unit = {
      val _ =
        Throttle.of(status, name => { assert(Throttle.mayDemand(name.toLowerCase(Locale.ROOT)), name); None }, now)
    }
    Seq(200, 429, 503).foreach(read)
    Seq("Content-Type", "Date", "Referer", "X-Request-Id", "").foreach(name => assert(!Throttle.mayDemand(name)))
  }
}
