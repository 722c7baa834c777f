package io.epochal.rest.sink

import io.epochal.core.error.{EpochalException, Redaction}
import io.epochal.core.option.{OptionSpec, OptionValues}
import io.epochal.rest.http.{Endpoint, RequestOptions}
import io.epochal.rest.sink.RestSinkOptions.group

/** A URL of requests: its endpoint, with headers and secrets, and the template of its targets. */
final case class RequestUrl(endpoint: Endpoint, template: UrlTemplate)

object RequestUrl {
  type Headers = Seq[(String, String)]

  def of(
      values: OptionValues,
      spec: OptionSpec[String],
      url: String,
      headers: Headers): Either[EpochalException, RequestUrl] =
    UrlTemplate
      .of(url, values.family(RequestOptions.Params).toSeq.sortBy(_._1), headers)
      .map { case (endpoint, template) => RequestUrl(endpoint, template) }
      .left
      .map(group.invalid(spec, Redaction.url(url), _))
}
