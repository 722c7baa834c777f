package io.epochal.jdbc.insert

import org.apache.spark.sql.types._

import io.epochal.jdbc.database.{BoundColumn, BoundTable}
import io.epochal.jdbc.row.Texts
import io.epochal.kit.record.ReplicaKey

/** The keys of a chunk: greater than a lower bound, up to and including an upper one. They are whole numbers, or UUIDs, which the target
  * must sort by their bytes. A row of the target with NULL in its key is in the range without an upper bound.
  *
  * @param key
  *   its columns in the order of the source's key; Left: in any order, since the source has another key
  * @param after
  *   the lower bound's values, as the database prints them; None: from the first key on
  * @param until
  *   those of the upper bound; None: up to the last key
  */
final private[insert] case class KeyRange(
    key: Either[Seq[BoundColumn], Seq[BoundColumn]],
    after: Option[Seq[String]],
    until: Option[Seq[String]]) {
  import KeyRange._

  private def columns = key.merge

  /** A bound for messages: `(id 5)`. */
  def textOf(bound: Option[Seq[String]]): Option[String] =
    bound.map(columns.zip(_).map { case (column, value) => s"${nameOf(column)} $value" }.mkString("(", ", ", ")"))

  /** SQL of the condition for the rows of a relation, given its alias, in a form that indexes serve. Left: why there is none.
    *
    * @param uuidOrder
    *   see [[MergeSql]]
    */
  def condition(
      quote: String => String,
      uuidOrder: (BoundColumn, String) => Option[String]): Either[String, String => String] = {
    def name(column: BoundColumn, of: String): String = s"$of.${quote(nameOf(column))}"
    def side(bound: Seq[String], of: String, sign: String, last: String): String = compare(
      columns.zip(bound).map { case (column, value) =>
        if (isNumber(column)) (name(column, of), value)
        else (uuidOrder(column, name(column, of)).getOrElse(name(column, of)), s"'$value'")
      },
      sign,
      last)
    def problem: Option[String] = key.left.toOption
      .map(_ => "the source's chunks are ranges of another key")
      .orElse(Seq(after, until).flatten.flatMap(columns.zip(_)).collectFirst {
        case (column, value) if !isExpected(column, value) =>
          s"${nameOf(column)} $value is neither a whole number nor a UUID"
        case (column, _) if !isNumber(column) && uuidOrder(column, name(column, "t")).isEmpty =>
          s"${column.column.columnType.declaration} does not sort UUIDs by their bytes"
      })

    if (after.isEmpty && until.isEmpty) Right(_ => "true")
    else
      problem.toLeft { of =>
        val sides = after.map(side(_, of, ">", ">")) ++ until.map(side(_, of, "<", "<="))
        val nullable = columns.filter(_.column.nullable).map(name(_, of))
        if (until.isEmpty) (sides ++ nullable.map(key => s"$key IS NULL")).mkString("(", " OR ", ")")
        else (sides ++ nullable.map(key => s"$key IS NOT NULL")).mkString(" AND ")
      }
  }
}

private[insert] object KeyRange {

  /** The columns of a table's key, for [[KeyRange.key]]. */
  def key(table: BoundTable, keys: Seq[String]): Either[Seq[BoundColumn], Seq[BoundColumn]] = {
    val columns = keys.flatMap(key => table.columns.find(nameOf(_) == key))
    ReplicaKey.of(StructType(table.columns.map(_.field))) match {
      case None => Either.cond(columns.size == 1, columns, columns)
      case Some(fields) =>
        val sorted = fields.flatMap(field => columns.find(_.field.name == field.name))
        Either.cond(Seq(sorted, columns).forall(_.size == fields.size), sorted, columns)
    }
  }

  private def nameOf(column: BoundColumn): String = column.column.name

  private def isNumber(column: BoundColumn): Boolean =
    Seq(ByteType, ShortType, IntegerType, LongType).contains(column.field.dataType)

  private def isExpected(column: BoundColumn, value: String): Boolean =
    if (isNumber(column)) value.matches("-?\\d+")
    else Texts.is(column.field.dataType) && value.matches("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

  private def compare(sides: Seq[(String, String)], sign: String, last: String): String = sides match {
    case Seq((column, value)) => s"$column $last $value"
    case (column, value) +: rest =>
      s"$column $sign= $value AND ($column $sign $value OR ($column = $value AND ${compare(rest, sign, last)}))"
    case _ => "true"
  }
}
