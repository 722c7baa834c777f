package io.epochal.jdbc.postgres

import java.sql.{Connection, SQLException}

import scala.util.Using
import scala.util.control.NonFatal

import org.postgresql.PGConnection

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.hash.Sha256
import io.epochal.jdbc.commit.LedgerTable
import io.epochal.jdbc.database.{
  BoundColumn,
  BoundTable,
  BulkLoad,
  BulkRun,
  ConnectionWatch,
  Loaded,
  PreparedLoad,
  WriteMode
}
import io.epochal.kit.database.Sql
import io.epochal.kit.sink.row.EncodedRows
import io.epochal.kit.sink.transport.TaskAttempt

/** Loads encoded rows into a table by one binary COPY: directly, or, if they replace others, through a temporary table. */
private[postgres] object PostgresLoad {

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows): Loaded = table.mode match {
    case WriteMode.Append =>
      Loaded.Rows(append(connection, table, rows), rows.rows)
    case upsert: WriteMode.Upsert =>
      merge(connection, table, upsert, rows, PostgresIncoming.copy(connection, table, rows))
  }

  private def merge(
      connection: Connection,
      table: BoundTable,
      upsert: WriteMode.Upsert,
      rows: EncodedRows,
      from: String): Loaded = {
    val source = if (PostgresIncoming.parses(table)) s"(${PostgresIncoming.typed(table, from)})" else from
    PostgresMerge(connection, table, upsert, source, rows.rows)
  }

  /** Rows of a table that is appended to are copied under the session's path; others have a temporary table. */
  def prepared(table: BoundTable): Option[PreparedLoad] = table.mode match {
    case WriteMode.Append if PostgresIncoming.parses(table) => None
    case WriteMode.Append =>
      Some(new PreparedLoad {
        override val preparation: Seq[Sql] = Seq(SearchPath.OfSession)
        override def undo(connection: Connection): Unit = SearchPath.pin(connection)
        override def apply(connection: Connection, rows: EncodedRows): Loaded =
          Loaded.Rows(copyInto(connection, table, rows), rows.rows)
      })
    case upsert: WriteMode.Upsert =>
      Some(new PreparedLoad {
        override val preparation: Seq[Sql] = Seq(PostgresIncoming.creation(table))
        override def apply(connection: Connection, rows: EncodedRows): Loaded =
          merge(connection, table, upsert, rows, PostgresIncoming.fill(connection, table, rows))
      })
  }

  /** COPY into the table: directly, unless the server has to parse texts. */
  def append(connection: Connection, table: BoundTable, rows: EncodedRows): Long =
    if (PostgresIncoming.parses(table)) move(connection, table, PostgresIncoming.copy(connection, table, rows))
    else
      SearchPath.ofSession(connection)(copyInto(connection, table, rows))

  private def copyInto(connection: Connection, table: BoundTable, rows: EncodedRows): Long =
    copy(connection, PostgresDialect.quote(table.table.name), table.columnNames, rows)

  /** Moves the rows of another relation, and returns how many the server stored. */
  def move(connection: Connection, table: BoundTable, from: String): Long = {
    val columns = table.columnNames.map(PostgresDialect.quote).mkString(", ")
    val rows = PostgresIncoming.typed(table, from)
    PostgresIncoming.parsing(table)(
      SearchPath.update(connection, s"INSERT INTO ${PostgresDialect.quote(table.table.name)} ($columns) $rows"))
  }

  def copy(connection: Connection, into: String, columns: Seq[String], rows: EncodedRows): Long =
    Using.resource(new CopyStream(connection, into, columns)) { copy =>
      rows.chunks.foreach { case (bytes, length) => copy.write(bytes, length) }
      copy.finish()
    }
}

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
    PostgresType.parses(bound.field.dataType, bound.column.columnType)

  /** Of a layout: the columns that have texts in place of values of the target's type. */
  def parsed(table: BoundTable): Seq[String] =
    table.columns.filter(parses(_)).map(bound => s"${bound.column.name} as text")

  /** Replaces the server's error for a text that it cannot parse, which contains the text. */
  def parsing[A](table: BoundTable)(body: => A): A =
    try body
    catch {
      case error: SQLException if parses(table) && Unparsable.exists(Sql.state(error).startsWith) =>
        val columns = table.columns.filter(parses(_)).map(c => s"${c.column.name} ${c.column.columnType.declared}")
        throw new SQLException(
          s"a text of one of these columns is no value of the column's type: ${columns.mkString(", ")}",
          Sql.state(error))
    }

  /** Data exceptions, and the syntax errors of some types. */
  private val Unparsable = Seq("22", "42601")

  /** A SELECT of all columns, with the target's types, from a relation that is [[like]] encoded rows. */
  def typed(table: BoundTable, from: String): String = {
    val columns = table.columns.map { bound =>
      val name = PostgresDialect.quote(bound.column.name)
      bound.column.columnType match {
        // A point is the thousands separator of money in some locales, and the decimal one of a number in all.
        case kind: PostgresType if parses(bound) =>
          s"$name${if (kind.name == "money") "::pg_catalog.\"numeric\"" else ""}::${kind.sql} AS $name"
        case _ => name
      }
    } ++ table.operation.toSeq.flatMap(_.names).map(PostgresDialect.quote)
    s"SELECT ${columns.mkString(", ")} FROM $from"
  }

  /** A SELECT with the columns and types of encoded rows, including columns that are added to the table with the first
    * epoch.
    */
  def like(table: BoundTable): String = {
    val columns = table.columns.map { bound =>
      val name = bound.column.name
      val quoted = PostgresDialect.quote(name)
      if (parses(bound)) s"NULL::pg_catalog.text AS $quoted"
      else table.added.collectFirst { case (`name`, kind) => s"NULL::$kind AS $quoted" }.getOrElse(quoted)
    }
    val operation = table.operation.toSeq.flatMap { operation =>
      s"false AS ${PostgresDialect.quote(operation.name)}" +:
        operation.names.tail.map(name => s"NULL::pg_catalog.text AS ${PostgresDialect.quote(name)}")
    }
    s"SELECT ${(columns ++ operation).mkString(", ")} FROM ${PostgresDialect.quote(table.table.name)}"
  }

  private def hash(table: BoundTable): String = {
    val parts = Seq(table.table.target.toString, table.shape, table.operation.toString) ++
      table.columns.map(bound => s"${bound.column.name} ${bound.column.columnType}") ++ parsed(table)
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

  def write(bytes: Array[Byte], length: Int): Unit = {
    in.writeToCopy(bytes, 0, length)
    ConnectionWatch.step()
  }

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
