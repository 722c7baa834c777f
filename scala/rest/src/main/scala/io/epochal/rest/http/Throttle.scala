package io.epochal.rest.http

import java.time.{Duration, Instant}

/** Reads from response headers how long a server demands a pause, for every request: of the source, of the sink, and for
  * access tokens.
  *
  * A time is a number of seconds, with or without a fraction, or a date: of HTTP (RFC 9110, section 5.6.7, in its three
  * forms) or of ISO 8601. A number too large for a pause is a time in seconds or milliseconds since 1970. Zero, negative
  * numbers and dates in the past count as absent.
  */
private[http] object Throttle {
  private type Headers = String => Option[String]

  /** The pause after a response with this status.
    *
    *   - `Retry-After`, `Retry-After-Ms` and `X-Ms-Retry-After-Ms` of an unsuccessful response; of a 429 they alone count
    *   - the time until a rate limit resets, if the response reports that no requests remain, or is a 429 that does not say
    *     how many remain: `RateLimit` as in the drafts of the IETF's httpapi group (`"default";r=0;t=30`, and the older
    *     `limit=100, remaining=0, reset=30`), `RateLimit-Remaining` with `RateLimit-Reset-After` or `RateLimit-Reset`, and
    *     the same names with the prefix `X-`
    *
    * @param header
    *   looks up a header's value
    */
  def of(status: Int, header: Headers, now: Instant): Pause = {
    val retry = if (status < 300) Pause(None) else retryAfter(header, now)
    def reset =
      Prefixes
        .map(pair(_, header, now, refused = status == 429))
        .reduce(_ and _)
        .and(Pause(header("RateLimit").flatMap(policies)))
    if (status == 429) retry.orElse(reset) else retry.and(reset)
  }

  /** Whether a header of this name may be one of those that `of` reads: quick, as it is called for all headers. */
  def mayDemand(header: String): Boolean =
    Beginnings.exists(begin => header.regionMatches(true, 0, begin, 0, begin.length))

  /** Whether a response demands by `Retry-After`, or a header like it, that the request is repeated later. */
  def repeats(header: Headers): Boolean = RetryAfter.exists { case (name, _) => header(name).isDefined }

  private def retryAfter(header: Headers, now: Instant): Pause =
    RetryAfter.map { case (name, scale) => time(name, header, now, scale) }.reduce(_ and _)

  /** Names, and their unit in seconds. */
  private val RetryAfter = Seq("Retry-After" -> 1.0, "Retry-After-Ms" -> 1e-3, "X-Ms-Retry-After-Ms" -> 1e-3)

  private val Prefixes = Seq("RateLimit", "X-RateLimit", "X-Rate-Limit")

  /** The beginnings of all header names that `of` reads. */
  private val Beginnings = RetryAfter.map(_._1) ++ Prefixes

  private val Remaining = "(?:\\br|\\bremaining)\\s*=\\s*(\\d+)".r
  private val Reset = "(?:\\bt|\\breset)\\s*=\\s*(\\d+)".r

  /** The longest wait among exhausted policies. */
  private def policies(text: String): Option[Duration] = {
    val each = if (text.contains(';')) text.split(',').toSeq else Seq(text)
    each.flatMap { policy =>
      for {
        remaining <- Remaining.findFirstMatchIn(policy) if remaining.group(1).forall(_ == '0')
        reset <- Reset.findFirstMatchIn(policy)
        wait <- reset.group(1).toDoubleOption.map(seconds) if !wait.isZero
      } yield wait
    }.maxOption
  }

  private def pair(prefix: String, header: Headers, now: Instant, refused: Boolean): Pause = {
    val remaining = header(s"$prefix-Remaining").flatMap(_.trim.toDoubleOption)
    if (!remaining.fold(refused)(_ <= 0)) Pause(None)
    else time(s"$prefix-Reset-After", header, now).orElse(time(s"$prefix-Reset", header, now))
  }

  private def time(name: String, header: Headers, now: Instant, scale: Double = 1): Pause =
    header(name).map(_.trim).filter(_.nonEmpty).fold(Pause(None)) { text =>
      val until = text match {
        case Number() => Some(number(text.toDouble * scale, now))
        case _        => HttpDate.parse(text, now).map(Duration.between(now, _))
      }
      until.fold(Pause(None, Seq(name -> text)))(wait => Pause(Some(wait).filter(w => !w.isNegative && !w.isZero)))
    }

  private val Number = "[+-]?\\d{1,30}(?:\\.\\d{0,30})?".r

  /** A number of seconds; one that is too large for a pause is a time in seconds or milliseconds since 1970. */
  private def number(value: Double, now: Instant): Duration =
    if (value < 1e9) seconds(value)
    else seconds((if (value < 1e11) value else value / 1e3) - now.toEpochMilli / 1e3)

  private def seconds(value: Double): Duration = Duration.ofMillis((math.min(value, MaxSeconds) * 1e3).round)

  /** Longer than any query waits. */
  private val MaxSeconds = (1L << 31).toDouble
}
