package io.epochal.rest.source.paging

import java.util.Locale

/** Finds a link in `Link` headers (RFC 8288, section 3): `<https://h/c?page=2>; rel="next", <…>; rel="last"`. */
private[rest] object LinkHeader {

  /** @param headers
    *   the values of all `Link` headers of a response
    * @param rel
    *   the relation, case-insensitive
    * @return
    *   the target of the first link with that relation, as written: it may be relative
    */
  def find(headers: Seq[String], rel: String): Option[String] =
    headers.iterator.flatMap(links).collectFirst {
      case (target, parameters) if relationsOf(parameters).exists(_.equalsIgnoreCase(rel)) => target
    }

  /** All relations of this page's links.
    *
    * @param headers
    *   the values of all `Link` headers of a response
    */
  def relations(headers: Seq[String]): Seq[String] =
    headers.flatMap(links).flatMap { case (_, parameters) => relationsOf(parameters) }

  /** The relations of a link; none if its context is another resource (`anchor`). */
  private def relationsOf(parameters: Seq[(String, String)]): Seq[String] =
    if (parameters.exists(_._1 == "anchor")) Nil
    else parameters.collectFirst { case ("rel", value) => value }.toSeq.flatMap(_.trim.split("\\s+"))

  private def links(header: String): Seq[(String, Seq[(String, String)])] = {
    val found = Seq.newBuilder[(String, Seq[(String, String)])]
    val text = new Cursor(header)
    while (text.skipTo('<')) {
      val target = text.until('>')
      val parameters = Seq.newBuilder[(String, String)]
      while (text.take(';')) {
        val name = text.until('=', ';', ',').trim.toLowerCase(Locale.ROOT)
        val value = if (text.take('=')) text.value() else ""
        if (name.nonEmpty) parameters += name -> value
      }
      found += target.trim -> parameters.result()
    }
    found.result()
  }

  final private class Cursor(text: String) {
    private var at = 0

    /** Moves past the next `c`. */
    def skipTo(c: Char): Boolean = {
      val found = text.indexOf(c.toInt, at)
      at = if (found < 0) text.length else found + 1
      found >= 0
    }

    /** Moves past `c` if it comes next, after white space. */
    def take(c: Char): Boolean = {
      while (at < text.length && text.charAt(at).isWhitespace) at += 1
      val matches = at < text.length && text.charAt(at) == c
      if (matches) at += 1
      matches
    }

    /** The text before the first of `ends`; skips a closing `>`. */
    def until(ends: Char*): String = {
      val from = at
      while (at < text.length && !ends.contains(text.charAt(at))) at += 1
      val part = text.substring(from, at)
      if (ends == Seq('>')) at = math.min(at + 1, text.length)
      part
    }

    /** A token, or a quoted string. */
    def value(): String =
      if (take('"')) {
        val value = new StringBuilder
        while (at < text.length && text.charAt(at) != '"') {
          if (text.charAt(at) == '\\' && at + 1 < text.length) at += 1
          value += text.charAt(at)
          at += 1
        }
        at = math.min(at + 1, text.length)
        value.result()
      } else until(';', ',').trim
  }
}
