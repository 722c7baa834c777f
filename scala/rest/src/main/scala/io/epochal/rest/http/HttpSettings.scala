package io.epochal.rest.http

import java.time.Duration

import scala.util.Try

import io.epochal.core.error.Redaction
import io.epochal.core.retry.RetrySettings
import io.epochal.kit.access.Secret
import io.epochal.rest.http.auth.HttpAuth
import io.epochal.rest.http.request.{Endpoint, HttpBudget, HttpStatuses, RequestLimits}
import io.epochal.rest.http.transport.HttpTransport

/** What all requests of a query have in common. Travels to the executors; prints without secrets.
  *
  * @param transport
  *   what connections are like
  * @param maxResponseBytes
  *   the largest response that is read, after decompression
  * @param politeness
  *   how often the server is asked, and what is made of its refusals
  * @param auth
  *   how requests say who asks
  * @param hidden
  *   what else must be in no text
  * @param byLines
  *   whether bodies of success are lines: where nothing but the end of the connection ends one, its last line must have its break
  * @param limits
  *   how long a request may take
  */
final case class HttpSettings(
    endpoint: Endpoint,
    transport: HttpTransport,
    retry: RetrySettings,
    maxResponseBytes: Long,
    limits: RequestLimits,
    politeness: HttpPoliteness = HttpPoliteness.none,
    auth: HttpAuth = HttpAuth.none,
    hidden: Seq[Secret] = Nil,
    byLines: Boolean = false) {

  /** A server's text without the secrets that it may repeat. */
  def masked(text: String, more: Seq[String] = Nil): String =
    (endpoint.secrets ++ (auth.secrets ++ hidden).flatMap(secret => Try(secret.read()).toOption) ++ more)
      .filter(_.length >= HttpSettings.ShortestSecret)
      .sortBy(-_.length)
      .foldLeft(text)(_.replace(_, Redaction.Mask))
}

object HttpSettings {

  /** Shorter values (true, 30, en) are settings, and come by chance; masking them would make texts unreadable. */
  private[epochal] val ShortestSecret = 5
}

/** @param query
  *   which requests share the budget within a JVM: those of one DataFrame
  * @param maxThrottleWait
  *   the longest pause that the server may ask for
  * @param retried
  *   statuses after which a request is made again
  * @param ignored
  *   statuses that count as a response without anything in it
  */
final case class HttpPoliteness(
    query: String,
    budget: HttpBudget,
    maxThrottleWait: Duration,
    retried: HttpStatuses,
    ignored: HttpStatuses)

object HttpPoliteness {

  /** No budget, and the usual statuses. */
  val none: HttpPoliteness =
    HttpPoliteness("", HttpBudget.unlimited, Duration.ofMinutes(1), HttpStatuses.transient, HttpStatuses.none)
}
