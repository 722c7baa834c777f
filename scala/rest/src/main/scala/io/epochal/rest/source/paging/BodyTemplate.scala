package io.epochal.rest.source.paging

import java.nio.charset.StandardCharsets.UTF_8

/** The body of a request, with places such as `${offset}` for what tells the page. Shows nothing of its text.
  *
  * @param names
  *   of the places, in their order
  */
final class BodyTemplate private (text: String) extends Serializable {
  import BodyTemplate._

  val names: Seq[String] = Place.findAllMatchIn(text).map(_.group(1)).toSeq.distinct

  /** The body, with a value for each place. */
  def fill(value: String => String): Array[Byte] =
    Place.replaceAllIn(text, place => java.util.regex.Matcher.quoteReplacement(value(place.group(1)))).getBytes(UTF_8)

  override def toString: String = s"BodyTemplate(${names.mkString(", ")})"
}

object BodyTemplate {
  private val Place = """\$\{([A-Za-z]+)}""".r

  def apply(text: String): BodyTemplate = new BodyTemplate(text)
}
