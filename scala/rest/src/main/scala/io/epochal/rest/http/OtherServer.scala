package io.epochal.rest.http

import scala.util.Using

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.access.Secret
import io.epochal.kit.record.Body
import io.epochal.rest.http.auth.{HttpAuth, TokenServer}
import io.epochal.rest.http.request.{Endpoint, HttpCall, HttpCounters}

/** A client of its own for each request to a server other than the API. */
final private[http] class OtherServer(query: HttpSettings, counters: HttpCounters) extends TokenServer {

  override def ask[A](endpoint: Endpoint, call: HttpCall, hidden: Seq[Secret], maxBytes: Long, first: Boolean)(
      read: Body => A): Either[TokenServer.Refusal, A] = {
    val buffer = new Body
    val settings = query.copy(
      endpoint = endpoint,
      politeness = HttpPoliteness.none.copy(maxThrottleWait = query.politeness.maxThrottleWait),
      auth = HttpAuth.none,
      maxResponseBytes = math.min(query.maxResponseBytes, maxBytes),
      hidden = hidden)
    try
      Using.resource(new HttpClient(settings, counters)) { client =>
        Right(client.call(call, buffer, first)(_ => read(buffer)))
      }
    catch {
      case error: EpochalException if error.condition == Conditions.HttpStatus =>
        Left(new TokenServer.Refusal(error.values("status"), buffer, settings.masked(_)))
    }
  }
}
