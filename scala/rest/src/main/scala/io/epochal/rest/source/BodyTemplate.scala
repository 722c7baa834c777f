package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8

/** The body of a request, with placeholders such as `${offset}` that select the page. Prints without its text. */
final class BodyTemplate(private[source] val text: String) extends Serializable {
  private val Place = """\$\{([A-Za-z]+)}""".r

  /** The placeholders, in their order. */
  val names: Seq[String] = Place.findAllMatchIn(text).map(_.group(1)).toSeq.distinct

  def fill(value: String => String): Array[Byte] =
    Place.replaceAllIn(text, place => java.util.regex.Matcher.quoteReplacement(value(place.group(1)))).getBytes(UTF_8)

  override def toString: String = s"BodyTemplate(${names.mkString(", ")})"
}
