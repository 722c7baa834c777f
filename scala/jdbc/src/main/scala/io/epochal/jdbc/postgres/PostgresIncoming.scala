package io.epochal.jdbc.postgres

import java.sql.{Connection, SQLException}

import io.epochal.core.hash.Sha256
import io.epochal.jdbc.database.{BoundColumn, BoundTable}
import io.epochal.kit.database.{PostgresType, Sql}
import io.epochal.kit.sink.row.EncodedRows

/** The temporary tables through which keyed rows reach the target.
  *
  * There is one of each kind per session and row shape, kept across epochs and emptied by each COMMIT, which writes nothing to the
  * catalogs: they do not grow with the epochs. Behind a pooler every transaction may get another session, so each one creates the
  * table if its session lacks it. The name contains the shape: after the target was altered or recreated, rows use another one.
  */
private[postgres] object PostgresIncoming {

  /** Fills a table with encoded rows. Returns SQL of the relation. */
  def copy(connection: Connection, table: BoundTable, rows: EncodedRows): String = {
    creation(table).run(connection)
    fill(connection, table, rows)
  }

  /** Creates the table that [[fill]] fills. */
  def creation(table: BoundTable): Sql = creation(table, Incoming, like(table))

  def fill(connection: Connection, table: BoundTable, rows: EncodedRows): String = {
    val into = relation(table, Incoming)
    PostgresLoad.copy(connection, into, table.incoming, rows): Unit
    into
  }

  private val Incoming = "incoming"

  /** Creates a table with the columns of a query, if missing. It is empty at the first call in a transaction. */
  def creation(table: BoundTable, kind: String, query: String): Sql =
    Sql.raw(s"CREATE TEMPORARY TABLE IF NOT EXISTS ${name(table, kind)} ON COMMIT DELETE ROWS AS $query WITH NO DATA")

  def relation(table: BoundTable, kind: String): String = s"pg_temp.${name(table, kind)}"

  private def name(table: BoundTable, kind: String): String = s"epochal_${kind}_${hash(table)}"

  /** Whether the server has to parse texts of a column. */
  def parses(table: BoundTable): Boolean = table.columns.exists(parses(_))

  private def parses(bound: BoundColumn): Boolean =
    PostgresTypeRules.parses(bound.field.dataType, bound.column.columnType)

  /** Columns of a layout that have texts in place of values of the target's type. */
  def parsed(table: BoundTable): Seq[String] =
    table.columns.filter(parses(_)).map(bound => s"${bound.column.name} as text")

  /** Replaces the server's error for a text that it cannot parse, which contains the text. */
  def parsing[A](table: BoundTable)(body: => A): A =
    try body
    catch {
      case error: SQLException if parses(table) && Unparsable.exists(Sql.state(error).startsWith) =>
        val columns = table.columns.filter(parses(_)).map(c => s"${c.column.name} ${c.column.columnType.declaration}")
        throw new SQLException(
          s"a text of one of these columns is no value of the column's type: ${columns.mkString(", ")}",
          Sql.state(error))
    }

  /** Data exceptions, and the syntax errors of some types. */
  private val Unparsable = Seq("22", "42601")

  /** A column with the type that texts are parsed as: of a domain, its base type.
    *
    * @param of
    *   SQL of its relation, and a point
    */
  def valueOf(bound: BoundColumn, of: String, isText: Boolean = false): String = {
    val name = s"$of${PostgresDialect.quote(bound.column.name)}"
    bound.column.columnType match {
      // A point is the thousands separator of money in some locales, and the decimal one of a number in all.
      case kind: PostgresType if parses(bound) =>
        s"$name${if (isText && kind.name == "money") "::pg_catalog.\"numeric\"" else ""}::${kind.sql}"
      case _ => name
    }
  }

  /** A SELECT of all columns, with the target's types, from a relation that is [[like]] encoded rows. */
  def typed(table: BoundTable, from: String): String = {
    val columns = table.columns.map { bound =>
      val name = PostgresDialect.quote(bound.column.name)
      if (parses(bound)) s"${valueOf(bound, "", isText = true)} AS $name" else name
    } ++ table.operation.toSeq.flatMap(_.names).map(PostgresDialect.quote)
    s"SELECT ${columns.mkString(", ")} FROM $from"
  }

  /** A SELECT with the columns and types of encoded rows, including those of columns that are added or altered with
    * the first epoch.
    */
  def like(table: BoundTable): String = {
    val columns = table.columns.map { bound =>
      val name = bound.column.name
      val identifier = PostgresDialect.quote(name)
      if (parses(bound)) s"NULL::pg_catalog.text AS $identifier"
      else
        table.alterations
          .find(_.column == name)
          .flatMap(_.columnType)
          .fold(identifier)(kind => s"NULL::$kind AS $identifier")
    }
    val operation = table.operation.toSeq.flatMap { operation =>
      s"false AS ${PostgresDialect.quote(operation.name)}" +:
        operation.names.tail.map(name => s"NULL::pg_catalog.text AS ${PostgresDialect.quote(name)}")
    }
    s"SELECT ${(columns ++ operation).mkString(", ")} FROM ${PostgresDialect.quote(table.table.name)}"
  }

  private def hash(table: BoundTable): String = {
    val parts = Seq(table.table.target.toString, table.shape, table.mode.toString) ++
      table.columns.map(bound => s"${bound.column.name} ${bound.column.columnType}") ++ parsed(table)
    Sha256.hex(parts.map(part => s"${part.length} $part").mkString(","), 12)
  }
}
