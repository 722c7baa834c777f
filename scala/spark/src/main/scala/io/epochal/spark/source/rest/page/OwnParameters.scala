package io.epochal.spark.source.rest.page

import java.util.Locale
import java.util.regex.Matcher

import io.epochal.core.error.Redaction
import io.epochal.spark.http.HttpSettings

/** The parameters that all requests of a query have, which may be secret. A server may repeat them, under names like theirs, too:
  * what is told of an answer is kept without them, and without every value that is known to be secret.
  */
final private[rest] class OwnParameters(settings: HttpSettings) {
  import OwnParameters._
  import settings.endpoint

  private val names = (PageUrl.names(endpoint.target("")) ++ endpoint.credential).map(plain).toSet

  /** Whether a parameter of an address may be secret.
    *
    * @param value
    *   decoded
    */
  def has(name: String, value: String): Boolean = names(plain(name)) || settings.masked(value) != value

  /** A text with the values of such parameters masked in it. */
  def masked(text: String): String = {
    val without = Parameter.replaceAllIn(
      text,
      found => {
        val (name, value) = PageUrl.decoded(found.group(2))
        Matcher.quoteReplacement(
          if (has(name, value)) s"${found.group(1)}${found.group(2).takeWhile(_ != '=')}=${Redaction.Mask}"
          else found.matched)
      })
    Redaction.text(settings.masked(without))
  }
}

private object OwnParameters {

  /** In an address within another text. */
  private val Parameter = "([?&])([^=&?#;\\s<>\"',]+=[^&#;\\s<>\"',]*)".r

  /** `api_key`, `apiKey` and `API-Key` are one name. */
  private def plain(name: String): String = name.filter(_.isLetterOrDigit).toLowerCase(Locale.ROOT)
}
