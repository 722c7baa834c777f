package io.epochal.rest.http

import java.time.format.DateTimeFormatter
import java.time.{Duration, Instant, ZonedDateTime}

import scala.util.Try

/** Reads from response headers how long a server demands a pause. */
private[http] object Throttle {

  /** Retry-After (RFC 9110): seconds or a date. Zero and dates in the past count as absent. */
  def retryAfter(text: String, now: Instant): Option[Duration] =
    seconds(text)
      .orElse(Try(ZonedDateTime.parse(text.trim, DateTimeFormatter.RFC_1123_DATE_TIME)).toOption.map { date =>
        Duration.between(now, date.toInstant)
      })
      .filter(wait => !wait.isNegative && !wait.isZero)

  /** The time until the rate limit resets, if the server reports that no requests remain.
    *
    * Understood: `RateLimit` as in the drafts of the IETF's httpapi group (`"default";r=0;t=30`, and the older
    * `limit=100, remaining=0, reset=30`), `RateLimit-Remaining` with `RateLimit-Reset`, and the same names with the
    * prefix `X-`, whose reset may also be a timestamp in seconds or milliseconds since 1970.
    *
    * @param header
    *   looks up a header's value
    */
  def exhausted(header: String => Option[String], now: Instant): Option[Duration] =
    (header("RateLimit").flatMap(policies) ++ Pairs.flatMap(pair(_, header, now))).maxOption

  /** Header names: remaining requests, and time of reset. */
  private val Pairs =
    Seq("RateLimit", "X-RateLimit", "X-Rate-Limit").map(name => (s"$name-Remaining", s"$name-Reset"))

  private val Remaining = "(?:\\br|\\bremaining)\\s*=\\s*(\\d+)".r
  private val Reset = "(?:\\bt|\\breset)\\s*=\\s*(\\d+)".r

  /** The longest wait among exhausted policies. */
  private def policies(text: String): Option[Duration] = {
    val each = if (text.contains(';')) text.split(',').toSeq else Seq(text)
    each.flatMap { policy =>
      for {
        remaining <- Remaining.findFirstMatchIn(policy) if remaining.group(1).forall(_ == '0')
        reset <- Reset.findFirstMatchIn(policy)
        wait <- seconds(reset.group(1)) if !wait.isZero
      } yield wait
    }.maxOption
  }

  private def pair(names: (String, String), header: String => Option[String], now: Instant): Option[Duration] =
    for {
      remaining <- header(names._1) if remaining.trim.toDoubleOption.exists(_ <= 0)
      reset <- header(names._2).flatMap(_.trim.toDoubleOption)
      wait = until(reset, now) if !wait.isNegative && !wait.isZero
    } yield wait

  /** A number too large for a duration is a timestamp: seconds or milliseconds since 1970. */
  private def until(reset: Double, now: Instant): Duration = {
    val millis =
      if (reset < 1e9) reset * 1e3
      else if (reset < 1e11) reset * 1e3 - now.toEpochMilli.toDouble
      else reset - now.toEpochMilli.toDouble
    Duration.ofMillis(math.min(millis, MaxSeconds * 1e3).toLong)
  }

  private def seconds(text: String): Option[Duration] =
    text.trim.toLongOption.map(n => Duration.ofSeconds(math.min(n, MaxSeconds)))

  /** Longer than any query waits. */
  private val MaxSeconds = 1L << 31
}
