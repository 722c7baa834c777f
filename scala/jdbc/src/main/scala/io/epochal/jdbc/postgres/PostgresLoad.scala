package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.Using
import scala.util.control.NonFatal

import org.postgresql.PGConnection

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.hash.Sha256
import io.epochal.jdbc.commit.LedgerTable
import io.epochal.jdbc.database.{BoundTable, BulkLoad, BulkRun, Loaded, WriteMode}
import io.epochal.jdbc.sql.Sql
import io.epochal.kit.sink.row.EncodedRows
import io.epochal.kit.sink.transport.TaskAttempt

/** Loads encoded rows into a table by one binary COPY: directly, or, if they replace others, through a temporary table. */
private[postgres] object PostgresLoad {

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows): Loaded = table.mode match {
    case WriteMode.Append =>
      Loaded.Rows(append(connection, table, rows), rows.rows)
    case upsert: WriteMode.Upsert =>
      PostgresMerge(connection, table, upsert, PostgresIncoming.copy(connection, table, rows), rows.rows)
  }

  /** COPY directly into the table. */
  def append(connection: Connection, table: BoundTable, rows: EncodedRows): Long = SearchPath.ofSession(connection) {
    copy(connection, PostgresDialect.quote(table.table.name), table.columnNames, rows)
  }

  def copy(connection: Connection, into: String, columns: Seq[String], rows: EncodedRows): Long =
    Using.resource(new CopyStream(connection, into, columns)) { copy =>
      rows.chunks.foreach { case (bytes, length) => copy.write(bytes, length) }
      copy.finish()
    }
}

/** The temporary table through which keyed rows reach the target.
  *
  * There is one per session and row shape, kept across epochs and emptied by each COMMIT, which writes nothing to the catalogs:
  * they do not grow with the epochs. Behind a pooler every transaction may get another session, so each one creates the table
  * if its session lacks it. The name contains the shape: after the target was altered or recreated, rows use
  * another one.
  */
private[postgres] object PostgresIncoming {

  /** Fills the table, which is created in this transaction if missing. Returns SQL of the relation. */
  def copy(connection: Connection, table: BoundTable, rows: EncodedRows): String = {
    val name = s"epochal_incoming_${hash(table)}"
    Sql.run(
      connection,
      s"CREATE TEMPORARY TABLE IF NOT EXISTS $name ON COMMIT DELETE ROWS AS ${like(table)} WITH NO DATA")
    PostgresLoad.copy(connection, s"pg_temp.$name", table.incoming, rows): Unit
    s"pg_temp.$name"
  }

  /** A SELECT with the columns and types of encoded rows, including columns that are added to the table with the first
    * epoch.
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

/** One binary COPY into a table, of rows encoded by [[CopyFormat]]. Closing it before `finish` cancels the copy.
  *
  * @param into
  *   a quoted table name
  */
final private[postgres] class CopyStream(connection: Connection, into: String, columns: Seq[String])
    extends AutoCloseable {

  private val in = connection
    .unwrap(classOf[PGConnection])
    .getCopyAPI
    .copyIn(s"COPY $into (${columns.map(PostgresDialect.quote).mkString(", ")}) FROM STDIN (FORMAT binary)")
  in.writeToCopy(CopyFormat.Header, 0, CopyFormat.Header.length)

  def write(bytes: Array[Byte], length: Int): Unit = in.writeToCopy(bytes, 0, length)

  /** Returns the number of rows that the server stored. */
  def finish(): Long = {
    in.writeToCopy(CopyFormat.Trailer, 0, CopyFormat.Trailer.length)
    in.endCopy()
  }

  /** A copy that the server has ended with an error cannot be cancelled any more; that error is the one to report. */
  override def close(): Unit =
    if (in.isActive)
      try in.cancelCopy()
      catch { case NonFatal(_) => () }
}

/** Common parts of PostgreSQL's bulk loads. */
private[postgres] trait PostgresBulk extends BulkLoad {

  /** A batch write has neither a ledger row nor a successor, so it is never fenced. */
  final override def fenced(connection: Connection, run: BulkRun): Option[EpochalException] =
    if (run.once) None else SearchPath.pinned(connection)(PostgresBulk.ledger(run).fenced(connection, run))

  /** The error if fewer rows of an attempt are found than it sent. */
  final protected def lost(attempt: TaskAttempt, place: String, found: Long, sent: Long): EpochalException =
    Conditions.StagingLost(
      "partition" -> attempt.partition,
      "epoch" -> attempt.epoch,
      "found" -> found,
      "sent" -> sent,
      "place" -> place)
}

private[postgres] object PostgresBulk {

  /** The ledger beside the run's target. */
  def ledger(run: BulkRun): LedgerTable = new LedgerTable(PostgresDialect, run.table.trust, "")
}
