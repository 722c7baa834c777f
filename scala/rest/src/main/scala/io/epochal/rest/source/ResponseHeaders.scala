package io.epochal.rest.source

import java.util.Locale

import io.epochal.rest.http.ResponseHead

/** The headers of a response, for a column: names in lower case, and values of the same name joined by ", ". Headers
  * that may be credentials are omitted, and known secrets are masked in the others.
  */
private[rest] object ResponseHeaders {
  private val Secret = "cookie|auth|token|secret|session|credential|signature|csrf|xsrf|api-?key".r.unanchored

  def of(response: ResponseHead, own: OwnParameters): Map[String, String] =
    response.all
      .map { case (name, value) => name.toLowerCase(Locale.ROOT) -> value }
      .filterNot { case (name, _) => Secret.matches(name) }
      .groupMapReduce(_._1)(_._2)((one, other) => s"$one, $other")
      .map { case (name, text) => name -> own.mask(text) }
}
