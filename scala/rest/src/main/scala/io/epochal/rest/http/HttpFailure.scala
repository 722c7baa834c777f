package io.epochal.rest.http

import java.io.{EOFException, IOException, InterruptedIOException}
import java.net.{ConnectException, NoRouteToHostException, SocketTimeoutException, UnknownHostException}
import java.time.Duration
import java.util.zip.ZipException
import javax.net.ssl.{SSLException, SSLHandshakeException, SSLPeerUnverifiedException}

import scala.util.Try

import org.apache.hc.client5.http.ConnectTimeoutException
import org.apache.hc.core5.http.{
  ConnectionClosedException,
  ConnectionRequestTimeoutException,
  MalformedChunkCodingException,
  MessageConstraintException,
  TruncatedChunkException
}

import io.epochal.core.error.{Conditions, EpochalException, Redaction}
import io.epochal.core.retry.Verdict
import io.epochal.kit.gzip.GzipMembers
import io.epochal.kit.record.BodyProblem

/** Why one attempt failed.
  *
  * @param connected
  *   whether a server responded at all
  * @param throttled
  *   whether the server reported too many requests, which concerns all tasks
  * @param challenges
  *   the headers `WWW-Authenticate`, if the server rejected the credentials (401)
  * @param stale
  *   whether the server had closed a kept connection before the request
  * @param report
  *   makes the query's error from the number of attempts
  */
final private[epochal] class HttpFailure(
    val verdict: Verdict,
    val connected: Boolean = true,
    val throttled: Boolean = false,
    val challenges: Option[Seq[String]] = None,
    val stale: Boolean = false
)(val report: Int => EpochalException)
    extends Exception(null, null, false, false)

/** The credential options, for the advice in an error.
  *
  * @param set
  *   those that the user has set
  * @param possible
  *   one of each kind
  * @param lacking
  *   parameters of the query that this request does not have
  */
final private[epochal] case class CredentialAdvice(
    set: Seq[String],
    possible: Seq[String],
    lacking: Seq[String] = Nil) {

  def advice(status: Int): String = (status, set) match {
    case _ if lacking.exists(CredentialAdvice.Key.matches) || lacking.nonEmpty && set.isEmpty =>
      val key = lacking.find(CredentialAdvice.Key.matches).getOrElse(lacking.head)
      s"The API's own address of this page lacks the parameter ${lacking.map(name => s"'$name'").mkString(" and ")}. " +
        s"A key that every page needs is set by {option:apiKeyParam=$key}, with its value in {option:apiKey}, in place of '$key' in {option:url} and {option:params.*}."
    case (401, Nil) => s"The server asks for credentials, and none are set: set ${possible.mkString(", ")}."
    case (401, _)   => s"The server does not accept the credentials: check ${set.mkString(", ")}."
    case (_, Nil) =>
      s"The server does not permit this request, and no credentials are set: set ${possible.mkString(", ")}."
    case _ => s"These credentials have no permission for this request: check ${set.mkString(", ")}."
  }
}

private object CredentialAdvice {

  /** Names of parameters that probably carry a credential. */
  private val Key = "(?i).*(?:key|token|secret|auth|pass|sign).*".r
}

private[epochal] object HttpFailure {

  /** An unsuccessful status.
    *
    * @param detail
    *   the beginning of the body, or the target of a redirect
    */
  def status(
      endpoint: Endpoint,
      code: Int,
      verdict: Verdict,
      throttled: Boolean,
      detail: String,
      credentials: CredentialAdvice,
      challenges: Seq[String] = Nil): HttpFailure =
    new HttpFailure(verdict, throttled = throttled, challenges = Option.when(code == 401)(challenges))(attempts =>
      Conditions.HttpStatus(
        "url" -> endpoint,
        "status" -> code,
        "attempts" -> attempts,
        "body" -> excerpt(detail),
        "advice" -> advice(code, credentials)))

  /** A redirect after the maximum of them in a row. */
  def redirects(endpoint: Endpoint, code: Int, most: Int): HttpFailure =
    status(
      endpoint,
      code,
      Verdict.GiveUp,
      throttled = false,
      s"it followed $most redirects, and this is one more",
      CredentialAdvice(Nil, Nil))

  private def advice(code: Int, credentials: CredentialAdvice): String = code match {
    case 401 | 403 => credentials.advice(code)
    case 407 =>
      "The proxy does not accept the credentials: check {option:proxy}, {option:proxyUser} and {option:proxyPassword}."
    case 429 =>
      "Too many requests for the server: set {option:requestsPerSecond} or {option:maxConcurrency} below its limit. {option:maxThrottleWait} is the longest pause that the server may ask for."
    case redirect if redirect < 400 =>
      "Set {option:url} to the address that it redirects to: headers and parameters are sent only to its scheme, host and port, and a body only after 307 and 308."
    case server if server >= 500 =>
      "The server failed. {option:retry.maxAttempts} and {option:retry.deadline} set how long requests are repeated, {option:retry.statuses} after which statuses."
    case missing @ (404 | 410) =>
      s"Check the path and the parameters of {option:url}. {option:ignoreStatuses=$missing} counts this status as an empty response."
    case _ =>
      "The request is wrong: check {option:url}, {option:params.*} and {option:headers.*}. Requests are repeated after the statuses of {option:retry.statuses}; those of {option:ignoreStatuses} count as an empty response."
  }

  /** A connection that could not be opened, or that broke. */
  def of(endpoint: Endpoint, timeout: Duration, error: IOException): HttpFailure = {
    def unreachable(reason: String, verdict: Verdict = Verdict.Retry, connected: Boolean = true) =
      new HttpFailure(verdict, connected)(attempts =>
        Conditions.HttpUnreachable.because(error)("url" -> endpoint, "reason" -> reason, "attempts" -> attempts))
    error match {
      case connection: StaleConnection =>
        val plain = of(endpoint, timeout, connection.failure)
        new HttpFailure(plain.verdict, stale = true)(plain.report)
      case e: ResponseLimitException     => beyondLimit(endpoint, e.reason)
      case e: GzipMembers.TooManyMembers => beyondLimit(endpoint, e.getMessage)
      case e: MessageConstraintException => beyondLimit(endpoint, ResponseLimits.reason(e))
      case e: ZipException               => body(endpoint, reason(e), cut = true)
      case e: BodyProblem                => body(endpoint, e.getMessage, e.cut)
      case _: ConnectTimeoutException | _: SocketTimeoutException | _: ConnectionRequestTimeoutException =>
        val text = Try(s"${timeout.toMillis} ms").getOrElse(timeout.toString)
        new HttpFailure(Verdict.Retry, !error.isInstanceOf[ConnectTimeoutException])(attempts =>
          Conditions.HttpTimeout.because(error)("url" -> endpoint, "timeout" -> text, "attempts" -> attempts))
      case _: InterruptedIOException => unreachable("interrupted", Verdict.GiveUp)
      case _: SSLHandshakeException | _: SSLPeerUnverifiedException =>
        unreachable(s"TLS failed, ${reason(error)}", Verdict.GiveUp)
      case _: SSLException => unreachable(s"TLS failed, ${reason(error)}")
      case _: UnknownHostException =>
        unreachable(s"the host name ${endpoint.base.getHost} cannot be resolved", connected = false)
      case _: ConnectException | _: NoRouteToHostException => unreachable(reason(error), connected = false)
      case _: ConnectionClosedException | _: TruncatedChunkException | _: MalformedChunkCodingException |
          _: EOFException =>
        unreachable(s"the response broke off, ${reason(error)}")
      case _ => unreachable(s"the connection broke, ${reason(error)}")
    }
  }

  def tooLarge(endpoint: Endpoint, limit: Long): HttpFailure =
    new HttpFailure(Verdict.GiveUp)(_ => Conditions.HttpResponseTooLarge("url" -> endpoint, "limit" -> limit))

  private def beyondLimit(endpoint: Endpoint, reason: String): HttpFailure =
    new HttpFailure(Verdict.GiveUp)(_ => Conditions.HttpLimitExceeded("url" -> endpoint, "reason" -> excerpt(reason)))

  /** A request that exceeded its deadline, or a response below the minimum rate. */
  def tooSlow(endpoint: Endpoint, reason: String): HttpFailure =
    new HttpFailure(Verdict.Retry)(attempts =>
      Conditions.HttpTooSlow("url" -> endpoint, "reason" -> reason, "attempts" -> attempts))

  /** A body that is not in its format.
    *
    * @param cut
    *   whether it may only have been truncated, so that a retry may succeed
    */
  def body(endpoint: Endpoint, reason: String, cut: Boolean, advice: String = LookThere): HttpFailure =
    new HttpFailure(if (cut) Verdict.Retry else Verdict.GiveUp)(attempts =>
      Conditions
        .HttpBodyInvalid("url" -> endpoint, "attempts" -> attempts, "reason" -> excerpt(reason), "advice" -> advice))

  /** A successful response that is an error.
    *
    * @param text
    *   the error, without secrets
    */
  def inBody(endpoint: Endpoint, status: Int, text: String, isTransient: Boolean): HttpFailure =
    new HttpFailure(if (isTransient) Verdict.Retry else Verdict.GiveUp)(attempts =>
      Conditions
        .HttpErrorInBody("url" -> endpoint, "status" -> status, "attempts" -> attempts, "error" -> excerpt(text)))

  /** A successful response without a body, where records were expected; a retry may return them. */
  def noBody(endpoint: Endpoint, status: Int): HttpFailure =
    body(
      endpoint,
      s"the body is empty, its status is $status",
      cut = true,
      "If the API responds so where it has no records, set {option:missingRecords=empty}.")

  private val LookThere =
    "Open the URL with curl or in a browser and check what it returns; a proxy or a login page may respond in its place."

  /** A server's text for a message: on one line, short, without credentials. */
  def excerpt(text: String): String =
    Redaction.text(text.take(MaxRead).replaceAll("\\s+", " ").trim).take(MaxShown)

  private val MaxShown = 200

  /** Bounds the search for credentials, which is slower than reading. */
  private val MaxRead = 4000

  private def reason(error: IOException): String =
    excerpt(Option(error.getMessage).getOrElse(error.getClass.getSimpleName))
}
