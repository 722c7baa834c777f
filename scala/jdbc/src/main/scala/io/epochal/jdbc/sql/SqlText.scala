package io.epochal.jdbc.sql

/** The interpolator `sql`: `s`, with the margins of the text stripped, and nothing of what is put into it: a name may hold
  * a line that begins like a margin.
  */
object SqlText {

  implicit final class Margins(private val context: StringContext) extends AnyVal {
    def sql(values: Any*): String = StringContext(context.parts.map(stripped): _*).s(values: _*)
  }

  private def stripped(part: String): String = part.replaceAll("\n[ \t]*\\|", "\n")
}
