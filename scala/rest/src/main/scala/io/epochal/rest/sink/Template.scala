package io.epochal.rest.sink

import com.fasterxml.jackson.core.io.JsonStringEncoder

/** JSON with placeholders `${name}` for values: `{"id": ${id}, "label": "order ${id}"}`. */
object Template {
  import TemplatePiece._

  def quote(text: String): String = s""""${new String(JsonStringEncoder.getInstance.quoteAsString(text))}""""

  /** @return
    *   the form that the text should have, or its parts in order
    */
  def parse(text: String): Either[String, Seq[TemplatePiece]] = {
    val pieces = Vector.newBuilder[TemplatePiece]
    val literal = new StringBuilder
    var quoted = false
    var problem = Option.empty[String]
    var i = 0
    def close(): Unit = if (literal.nonEmpty) {
      pieces += Literal(literal.toString)
      literal.clear()
    }
    while (i < text.length && problem.isEmpty)
      if (text.startsWith("${", i)) {
        val end = text.indexOf('}', i)
        if (end <= i + 2)
          problem = Some("a text in which every dollar sign before a brace has a name and a closing brace")
        else {
          close()
          pieces += Placeholder(text.substring(i + 2, end), quoted)
          i = end + 1
        }
      } else {
        val escape = quoted && text.charAt(i) == '\\' && i + 1 < text.length
        if (text.charAt(i) == '"') quoted = !quoted
        val length = if (escape) 2 else 1
        literal.append(text.substring(i, i + length))
        i += length
      }
    close()
    problem
      .orElse(Option.when(quoted)("a text in which every double quote has its second one"))
      .toLeft(pieces.result())
  }
}
