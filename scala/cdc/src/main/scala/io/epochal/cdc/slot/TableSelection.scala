package io.epochal.cdc.slot

import java.sql.Connection

import io.epochal.core.option.OptionType
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{Sql, TableName}

/** The option `dbtable`: one table, or several and whole schemas, as in `public.orders,sales.*`. */
final private[cdc] case class TableSelection(names: Seq[TableName]) {
  import TableSelection._

  /** Whether its rows are generic, since they are those of any table. */
  def isSeveral: Boolean = names.size > 1 || names.exists(isSchema)

  /** The tables that the names stand for now, and the schemas that are captured whole. A partition counts as its root. A name without
    * a schema stands for the first such table on the role's search path, else for that of `public`.
    *
    * @return
    *   Left: a name that stands for no table
    */
  def find(connection: Connection): Either[TableName, (Seq[TableFacts], Seq[String])] = {
    val single = names.filterNot(isSchema)
    val path =
      if (single.forall(_.schema.nonEmpty)) Nil else (CaptureServer.searchPath(connection) :+ "public").distinct
    def spellings(name: TableName) =
      for (schema <- name.schema.fold(path)(_.spellings); table <- name.table.spellings) yield schema -> table
    val pairs = single.flatMap(spellings).distinct.map { case (schema, table) => sql"($schema, $table)" }
    val tables =
      if (pairs.isEmpty) Nil else ServerFacts.tables(connection, sql"(n.nspname, c.relname) IN (${Sql.join(pairs)})")
    def first(name: TableName) =
      spellings(name).flatMap(of => tables.find(table => table.schema -> table.table == of)).take(1)
    val byName = names.map(name => name -> (if (isSchema(name)) tablesOf(connection, name) else first(name)))
    val missing = byName.collectFirst { case (name, Seq()) => name }
    missing.toLeft(
      byName.flatMap(_._2).distinctBy(_.oid) -> byName.filter(one => isSchema(one._1)).map(_._2.head.schema).distinct)
  }

  override def toString: String = names.mkString(",")
}

private[cdc] object TableSelection {

  val Type: OptionType[TableSelection] =
    new OptionType[TableSelection](
      "table names",
      "a table's name, or several with commas between them; schema.* stands for all tables of a schema",
      "public.orders,public.items")(parse, _.toString)

  def parse(text: String): Option[TableSelection] = {
    val names = text.split(CommaOutsideQuotes, -1).toSeq.map(TableName.parse)
    Option.when(names.forall(_.exists(name => !isSchema(name) || name.schema.nonEmpty)))(TableSelection(names.flatten))
  }

  /** Names of the tables that a sink keeps beside its targets. */
  val OfSinks = "^epochal_(ledger|staging|prepared)"

  private val CommaOutsideQuotes = ",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)"

  private def isSchema(name: TableName): Boolean = name.table.text == "*" && !name.table.quoted

  private def tablesOf(connection: Connection, name: TableName): Seq[TableFacts] =
    name.schema.toSeq
      .flatMap(_.spellings)
      .map { schema =>
        ServerFacts.tables(
          connection,
          sql"""n.nspname = $schema AND c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
               |AND c.relname !~ ${TableSelection.OfSinks} AND NOT EXISTS (
               |  SELECT FROM pg_class r
               |  WHERE r.oid = pg_partition_root(c.oid) AND r.oid <> c.oid AND r.relnamespace = c.relnamespace)"""
        )
      }
      .find(_.nonEmpty)
      .getOrElse(Nil)
}
