package io.epochal.jdbc.option

import java.util.Locale

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.{OptionSpec, OptionType, OptionValues}

/** Options on how rows go into the table, besides mode and keys. Columns are the query's, as the user spelled
  * them.
  *
  * @param updateColumns
  *   empty: all
  *   None: every row is stored
  *   None: every row is to be stored
  * @param columnMap
  *   from the query's column to the table's
  * @param deadLetterTable
  *   None: a bad row fails its epoch
  */
final case class RowOptions(
    updateColumns: Seq[String],
    opColumn: Option[String],
    columnMap: Seq[(String, String)],
    addColumns: Boolean,
    deadLetterTable: Option[TableName],
    maxBadRows: Int
) {

  /** Maximum number of bad rows in an epoch; None: the first one fails it. */
  def badRowLimit: Option[Int] = deadLetterTable.map(_ => maxBadRows)
}

object RowOptions {

  val tableName: OptionType[TableName] =
    new OptionType[TableName]("table name", "table or schema.table, with quotes where needed", "public.comments")(
      TableName.parse,
      _.toString)

  val UpdateColumns: OptionSpec[Seq[String]] = OptionSpec(
    "updateColumns",
    OptionType.names,
    "Columns to replace in existing rows. Unset: all but the keys.",
    sample = Some("body,updatedAt"))
  val OpColumn: OptionSpec[String] = OptionSpec(
    "opColumn",
    OptionType.string,
    "Query column, not stored, with each row's operation: insert (i, c, r), update (u) or delete (d), in any case (mode=changes).",
    sample = Some("op")
  )
  val ColumnMap: OptionSpec[Seq[(String, String)]] = OptionSpec(
    "columnMap",
    OptionType.pairs,
    "Columns whose names differ, as query:table pairs.",
    sample = Some("id:comment_id,body:text"))
  val AddColumns: OptionSpec[Boolean] = OptionSpec(
    "addColumns",
    OptionType.boolean,
    "Whether to add columns that the table lacks, nullable, in the transaction of the first epoch with them.",
    Some(false))
  val DeadLetterTable: OptionSpec[TableName] = OptionSpec(
    "deadLetterTable",
    tableName,
    "Table for rows that cannot be stored, written in their epoch's transaction; created if missing. Unset: such a row fails its epoch.",
    sample = Some("comments_bad"))
  val MaxBadRows: OptionSpec[Int] = OptionSpec(
    "maxBadRows",
    OptionType.int(0, 1000000),
    "Maximum rows per epoch in deadLetterTable; more fail the epoch.",
    Some(1000))

  val all: Seq[OptionSpec[_]] = Seq(UpdateColumns, OpColumn, ColumnMap, AddColumns, DeadLetterTable, MaxBadRows)

  /** @param mode
    *   the value of the option `mode`
    * @param keyed
    *   rows are stored by key
    */
  def read(values: OptionValues, mode: Option[String], keyed: Boolean): Either[EpochalException, RowOptions] = {
    val updated = values.get(UpdateColumns).getOrElse(Nil)
    val op = values.get(OpColumn)
    for {
      _ <- values.consistent(keyed || updated.isEmpty)(
        "{option:updateColumns}, {option:mode=append}",
        "{option:updateColumns} chooses what a row of the same key replaces: set {option:keyColumns}, or leave {option:updateColumns} out.")
      _ <- values.consistent(op.isEmpty || mode.forall(_ == "changes"))(
        s"{option:opColumn}, {option:mode=${mode.getOrElse("")}}",
        "{option:opColumn} says of each row what it does: set {option:mode=changes}, or leave {option:opColumn} out.")
      _ <- JdbcOptions.ensure(op.isDefined || !mode.contains("changes"))(
        Conditions.OptionRequired(
          "option" -> OpColumn.name,
          "format" -> JdbcOptions.Format,
          "doc" -> "with {option:mode=changes} the column that says what a row does",
          "example" -> OpColumn.example))
      _ <- values.consistent(!values.isSet(MaxBadRows) || values.isSet(DeadLetterTable))(
        "{option:maxBadRows}, no {option:deadLetterTable}",
        "Without {option:deadLetterTable} the first bad row fails its epoch: set it, or leave {option:maxBadRows} out.")
    } yield RowOptions(
      updated,
      op,
      values.get(ColumnMap).getOrElse(Nil),
      values(AddColumns),
      values.get(DeadLetterTable),
      values(MaxBadRows))
  }

}

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
