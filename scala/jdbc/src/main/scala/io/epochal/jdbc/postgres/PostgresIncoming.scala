package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.Using

import io.epochal.core.hash.Sha256
import io.epochal.jdbc.database.BoundTable

/** The temporary table through which rows come into another one by their keys.
  *
  * There is one for each session and shape of rows, kept from epoch to epoch and emptied by each COMMIT, which writes
  * nothing to the catalogs: they do not grow with the epochs. A pooler may give every transaction another session, so each
  * makes the table if this session has none yet. Its name tells its shape: a target that was altered, or made anew, gets
  * another one.
  */
private[postgres] object PostgresIncoming {

  /** Makes it, empty, in this transaction at the latest: the relation's SQL. */
  def temporary(connection: Connection, table: BoundTable): String = {
    val name = s"epochal_incoming_${hash(table)}"
    Using.resource(connection.createStatement())(
      _.execute(
        s"CREATE TEMPORARY TABLE IF NOT EXISTS $name ON COMMIT DELETE ROWS AS ${like(table)} WITH NO DATA")): Unit
    s"pg_temp.$name"
  }

  /** A SELECT that has the columns of the rows as tasks encode them, with their types; also of those that the table gets
    * with the first epoch only.
    */
  def like(table: BoundTable): String = {
    val columns = table.columnNames.map { name =>
      val quoted = PostgresDialect.quote(name)
      table.added.collectFirst { case (`name`, kind) => s"NULL::$kind AS $quoted" }.getOrElse(quoted)
    }
    val operation = table.operation.map(o => s"false AS ${PostgresDialect.quote(o.name)}")
    s"SELECT ${(columns ++ operation).mkString(", ")} FROM ${PostgresDialect.quote(table.table.name)}"
  }

  private def hash(table: BoundTable): String = {
    val parts = Seq(table.table.target.toString, table.shape, table.operation.toString) ++
      table.columns.map(bound => s"${bound.column.name} ${bound.column.columnType}")
    Sha256.hex(parts.map(part => s"${part.length} $part").mkString(","), 12)
  }
}
