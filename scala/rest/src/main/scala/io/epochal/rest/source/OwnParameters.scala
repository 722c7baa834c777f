package io.epochal.rest.source

import java.util.regex.Matcher

import io.epochal.core.error.Redaction
import io.epochal.rest.http.HttpSettings

/** The parameters of all requests of a query, which may be secret. A server may repeat them, also under similar names:
  * they, and all known secrets, are removed from a response's texts.
  */
final private[rest] class OwnParameters(settings: HttpSettings) {

  /** A parameter of an address within another text. */
  private val Parameter = "([?&])([^=&?#;\\s<>\"',]+=[^&#;\\s<>\"',]*)".r

  import settings.endpoint

  private val names = PageUrl.names(endpoint.target("")) ++ endpoint.credential

  /** Whether a parameter of an address, `name=value`, may be secret. */
  def has(pair: String): Boolean = {
    val name = PageUrl.nameOf(pair)
    names.exists(PageUrl.alike(_, name)) || PageUrl.values(pair).exists(value => settings.mask(value) != value)
  }

  /** A text with the values of such parameters masked. */
  def mask(text: String): String = {
    val without = Parameter.replaceAllIn(
      text,
      pairMatch => {
        val pair = pairMatch.group(2)
        val safePair = if (has(pair)) s"${pair.takeWhile(_ != '=')}=${Redaction.Mask}" else pair
        Matcher.quoteReplacement(pairMatch.group(1) + safePair)
      })
    Redaction.text(settings.mask(without))
  }
}
