package io.epochal.kit.database

/** The option `dbtable`: `table` or `schema.table`, each part plain or in double quotes (`"Odd.Name"`, quotes doubled). */
final case class TableName(schema: Option[NamePart], table: NamePart) {
  override def toString: String = (schema.toSeq :+ table).map(_.text).mkString(".")
}

object TableName {

  private val Part = "\"(?:[^\"]|\"\")+\"|[^\".\\s]+"
  private val Whole = s"\\s*(?:($Part)\\.)?($Part)\\s*".r

  def parse(text: String): Option[TableName] = text match {
    case Whole(schema, table) => Some(TableName(Option(schema).map(part), part(table)))
    case _                    => None
  }

  private def part(text: String): NamePart =
    if (text.startsWith("\"")) NamePart(text.substring(1, text.length - 1).replace("\"\"", "\""), quoted = true)
    else NamePart(text, quoted = false)
}
