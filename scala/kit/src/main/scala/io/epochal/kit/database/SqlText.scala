package io.epochal.kit.database

/** The interpolators `sql`, for a statement with parameters, and `text`, for SQL as a text. They strip the margins of the literal
  * parts, but not of interpolated values: a quoted name may contain a line that begins like a margin.
  */
object SqlText {

  implicit final class Margins(private val context: StringContext) extends AnyVal {
    def sql(values: Any*): Sql = Sql.of(context.parts.map(strip), values)
    def text(values: Any*): String = StringContext(context.parts.map(strip): _*).s(values: _*)
  }

  private def strip(part: String): String = part.replaceAll("\n[ \t]*\\|", "\n")
}
