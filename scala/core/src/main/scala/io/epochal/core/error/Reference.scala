package io.epochal.core.error

import java.util.regex.Matcher

/** Marks in the texts of errors, which each language renders in its own words:
  *
  * | in a text                          | Scala, SQL and Spark's own API         | Python                      |
  * |:-----------------------------------|:---------------------------------------|:----------------------------|
  * | `{option:pageSize=10}`             | `pageSize=10`                          | `pages=rest.Offset(size=10)` |
  * | `{schema:id INT}`                  | `.schema("id INT")`                    | `schema="id INT"`           |
  * | `{trigger:availableNow}`           | `.trigger(availableNow=True)`          | `trigger="availableNow"`    |
  * | `{trigger:processingTime=5 seconds}` | `.trigger(processingTime="5 seconds")` | `trigger="5 seconds"`       |
  */
private[epochal] object Reference {
  // A value may have braces, as `url=https://host/{id}` and `requestBody={"page": ${page}}`.
  private val Within = "[^{}]*"
  private val Once = s"$Within(?:\\{$Within\\}$Within)*"
  private val Marked = s"\\{(option|schema|trigger):($Within(?:\\{$Once\\}$Within)*|[^}]*)\\}".r

  def option(name: String): String = s"{option:$name}"

  /** The text in the words of Spark's own API. */
  def plain(text: String): String =
    if (!text.contains('{')) text
    else Marked.replaceAllIn(text, m => Matcher.quoteReplacement(spelling(m.group(1), m.group(2))))

  private def spelling(kind: String, content: String): String = kind match {
    case "option" => content
    case "schema" => s""".schema("$content")"""
    case _ =>
      val (name, value) = content.span(_ != '=')
      if (value.isEmpty) s".trigger($name=True)" else s""".trigger($name="${value.drop(1)}")"""
  }
}
