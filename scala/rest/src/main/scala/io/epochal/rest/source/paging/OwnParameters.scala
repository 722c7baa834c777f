package io.epochal.rest.source.paging

import java.util.regex.Matcher

import io.epochal.core.error.Redaction
import io.epochal.rest.http.HttpSettings

/** The parameters that all requests of a query have, which may be secret. A server may repeat them, under names like theirs, too:
  * what is told of a response is kept without them, and without every value that is known to be secret.
  */
final private[rest] class OwnParameters(settings: HttpSettings) {
  import OwnParameters._
  import settings.endpoint

  private val names = PageUrl.names(endpoint.target("")) ++ endpoint.credential

  /** Whether a parameter of an address, `name=value`, may be secret. */
  def has(pair: String): Boolean = {
    val name = PageUrl.nameOf(pair)
    names.exists(PageUrl.alike(_, name)) || PageUrl.values(pair).exists(value => settings.masked(value) != value)
  }

  /** A text with the values of such parameters masked in it. */
  def masked(text: String): String = {
    val without = Parameter.replaceAllIn(
      text,
      found => {
        val pair = found.group(2)
        val shown = if (has(pair)) s"${pair.takeWhile(_ != '=')}=${Redaction.Mask}" else pair
        Matcher.quoteReplacement(found.group(1) + shown)
      })
    Redaction.text(settings.masked(without))
  }
}

private object OwnParameters {

  /** In an address within another text. */
  private val Parameter = "([?&])([^=&?#;\\s<>\"',]+=[^&#;\\s<>\"',]*)".r
}
