package io.epochal.rest.http

import java.time.Duration

import scala.util.Try

import io.epochal.core.error.Redaction
import io.epochal.core.retry.RetrySettings
import io.epochal.kit.access.Secret

/** The HTTP settings of a query. Serialized to the executors; prints without secrets.
  *
  * @param transport
  *   connection settings
  * @param maxResponseBytes
  *   maximum response size after decompression
  * @param query
  *   identifies the DataFrame, or the `budgetName`, whose requests share the budget within a JVM
  * @param maxThrottleWait
  *   the longest pause that the server may demand
  * @param retryStatuses
  *   statuses that are retried
  * @param ignoreStatuses
  *   statuses that count as an empty response
  * @param auth
  *   authentication
  * @param extraSecrets
  *   further values that are masked in all texts
  * @param text
  *   how successful bodies are read; None: as bytes
  * @param mayLackBody
  *   whether a successful response with an empty body counts as one without records
  * @param rules
  *   how a successful response states an error
  * @param limits
  *   deadline and minimum rate of a request
  * @param patient
  *   whether the user has limited the attempts or their duration: the limits then hold for a stream's first request too
  */
final case class HttpSettings(
    endpoint: Endpoint,
    transport: HttpTransport,
    retry: RetrySettings,
    maxResponseBytes: Long,
    limits: RequestLimits,
    query: String,
    budget: HttpBudget,
    maxThrottleWait: Duration,
    retryStatuses: HttpStatuses,
    ignoreStatuses: HttpStatuses,
    auth: Seq[AuthSettings],
    extraSecrets: Seq[Secret] = Nil,
    text: Option[TextSettings] = None,
    mayLackBody: Boolean = false,
    patient: Boolean = false,
    rules: Option[BodyRules] = None) {

  /** Masks secrets in a server's text. */
  def mask(text: String, more: Seq[String] = Nil): String =
    (endpoint.secrets ++ (auth.flatMap(_.secrets) ++ extraSecrets).flatMap(secret =>
      Try(secret.read()).toOption) ++ more)
      .filter(_.length >= HttpSettings.ShortestSecret)
      .sortBy(-_.length)
      .foldLeft(text)(_.replace(_, Redaction.Mask))

  /** The options to check when the server rejects a request. */
  def credentials: CredentialAdvice = {
    val ofUrl = Option.when(endpoint.hasUserInfo)("the user info in {option:url}")
    val ofHeaders = endpoint.headers.collect {
      case (name, _) if name.equalsIgnoreCase("Authorization") && !endpoint.hasUserInfo => s"headers.$name"
    }
    CredentialAdvice(auth.map(_.reference) ++ ofUrl ++ ofHeaders, AuthScheme.names :+ "headers.Authorization")
  }
}

object HttpSettings {

  /** Shorter values (true, 30, en) are usually settings that occur in texts by chance; masking them would make texts
    * unreadable.
    */
  private[epochal] val ShortestSecret = 5
}
