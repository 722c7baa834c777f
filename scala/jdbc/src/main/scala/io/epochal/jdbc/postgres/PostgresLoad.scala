package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.Using
import scala.util.control.NonFatal

import org.postgresql.PGConnection

import io.epochal.core.error.EpochalException
import io.epochal.core.hash.Sha256
import io.epochal.jdbc.commit.LedgerTable
import io.epochal.jdbc.database.{BoundTable, BulkLoad, BulkRun, Loaded, WriteMode}
import io.epochal.kit.sink.row.EncodedRows

/** Puts encoded rows into a table by one binary COPY: straight, or where they replace others, by way of a temporary table. */
private[postgres] object PostgresLoad {

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows): Loaded = table.mode match {
    case WriteMode.Append =>
      Loaded.Rows(append(connection, table, rows), rows.rows)
    case upsert: WriteMode.Upsert =>
      val incoming = PostgresIncoming.temporary(connection, table)
      copy(connection, incoming, table.incoming, rows): Unit
      PostgresMerge(connection, table, upsert, incoming, rows.rows)
  }

  /** Straight into the table. */
  def append(connection: Connection, table: BoundTable, rows: EncodedRows): Long = SearchPath.ofSession(connection) {
    copy(connection, PostgresDialect.quote(table.table.name), table.columnNames, rows)
  }

  def copy(connection: Connection, into: String, columns: Seq[String], rows: EncodedRows): Long =
    Using.resource(new CopyStream(connection, into, columns)) { copy =>
      rows.chunks.foreach { case (bytes, length) => copy.write(bytes, length) }
      copy.finish()
    }
}

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

/** One binary COPY into a table. Takes rows as [[CopyFormat]] encodes them; closed before it is finished, it is cancelled.
  *
  * @param into
  *   a table, quoted
  */
final private[postgres] class CopyStream(connection: Connection, into: String, columns: Seq[String])
    extends AutoCloseable {

  private val in = connection
    .unwrap(classOf[PGConnection])
    .getCopyAPI
    .copyIn(s"COPY $into (${columns.map(PostgresDialect.quote).mkString(", ")}) FROM STDIN (FORMAT binary)")
  in.writeToCopy(CopyFormat.Header, 0, CopyFormat.Header.length)

  def write(bytes: Array[Byte], length: Int): Unit = in.writeToCopy(bytes, 0, length)

  /** Gives the number of rows that the server stored. */
  def finish(): Long = {
    in.writeToCopy(CopyFormat.Trailer, 0, CopyFormat.Trailer.length)
    in.endCopy()
  }

  /** A copy that the server has ended, with the error that explains it, cannot be cancelled any more. */
  override def close(): Unit =
    if (in.isActive)
      try in.cancelCopy()
      catch { case NonFatal(_) => () }
}

/** What PostgreSQL's ways to load have in common. */
private[postgres] trait PostgresBulk extends BulkLoad {

  /** A batch write has no row in the ledger, and no successor. */
  final override def fenced(connection: Connection, run: BulkRun): Option[EpochalException] =
    if (run.once) None else SearchPath.pinned(connection)(PostgresBulk.ledger(run).fenced(connection, run))
}

private[postgres] object PostgresBulk {

  /** Beside the target of a run. */
  def ledger(run: BulkRun): LedgerTable = new LedgerTable(PostgresDialect, run.table.trust, "")
}
