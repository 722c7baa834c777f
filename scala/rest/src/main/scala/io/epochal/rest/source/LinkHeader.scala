package io.epochal.rest.source

import java.util.Locale

import org.apache.hc.core5.util.Tokenizer

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

  /** The links of a header, each with its target and parameters. */
  private def links(header: String): Seq[(String, Seq[(String, String)])] = {
    val at = new Tokenizer.Cursor(0, header.length)
    def skip(c: Char): Boolean = {
      Tokenizer.INSTANCE.skipWhiteSpace(header, at)
      val isNext = !at.atEnd && header.charAt(at.getPos) == c
      if (isNext) at.updatePos(at.getPos + 1)
      isNext
    }
    // A quote within a value does not begin a quoted one.
    def value(): String = {
      Tokenizer.INSTANCE.skipWhiteSpace(header, at)
      if (header.startsWith("\"", at.getPos)) Tokenizer.INSTANCE.parseValue(header, at, ValueEnds)
      else Tokenizer.INSTANCE.parseToken(header, at, ValueEnds)
    }
    def parameter(): (String, String) = {
      val name = Tokenizer.INSTANCE.parseToken(header, at, NameEnds)
      name.toLowerCase(Locale.ROOT) -> (if (skip('=')) value() else "")
    }
    Iterator
      .continually(header.indexOf('<', at.getPos))
      .takeWhile(_ >= 0)
      .map { start =>
        at.updatePos(start + 1)
        val target = Tokenizer.INSTANCE.parseToken(header, at, TargetEnd)
        skip('>'): Unit
        target -> Iterator.continually(skip(';')).takeWhile(identity).map(_ => parameter()).toVector
      }
      .toVector
  }

  private val TargetEnd = Tokenizer.delimiters('>')
  private val NameEnds = Tokenizer.delimiters('=', ';', ',')
  private val ValueEnds = Tokenizer.delimiters(';', ',')
}
