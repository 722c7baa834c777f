package io.epochal.kit.database

import java.util.Locale

/** A name as the user wrote it.
  *
  * @param quoted
  *   written in double quotes, so that it must match exactly
  */
final case class NamePart(text: String, quoted: Boolean) {

  /** The names that it may stand for, the most likely first. */
  def spellings: Seq[String] = if (quoted) Seq(text) else Seq(text, text.toLowerCase(Locale.ROOT)).distinct
}

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

/** A table's name, spelled as in the database. */
final case class QualifiedName(schema: String, table: String) {
  override def toString: String = s"$schema.$table"
}
