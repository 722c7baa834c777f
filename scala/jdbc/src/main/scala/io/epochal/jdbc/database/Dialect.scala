package io.epochal.jdbc.database

import java.nio.file.Path
import java.sql.{Connection, ResultSet}
import java.time.Duration

import scala.annotation.unused
import scala.util.control.NonFatal

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.{ConnectionSettings, DriverProperties, JdbcDriver, QualifiedName, Sql}
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** Everything that differs between databases. The rest of the sink is independent of the database.
  *
  * A custom dialect is a class with a no-argument constructor, listed in the resource
  * `META-INF/services/io.epochal.jdbc.database.Dialect`; it takes precedence over Epochal's own. Extend [[generic.GenericDialect]]
  * and override what your database does better, or implement this trait for a different kind of database. It must provide:
  *
  *   - '''tables''': `quote` and a [[Catalog]]
  *   - '''types''': the types that [[TypeRules]] declares must be among those that it accepts. A value that a column cannot hold
  *     unchanged is refused by the task (`rowFormat`), fails in the database, or does not fit: it is never rounded, cut or set to NULL
  *   - '''transactions''': after `begin`, each statement sees what others committed before it, and a locked row stays locked until
  *     the end; its [[DriverErrors]] classify the driver's errors
  *   - '''rows''': `load` returns how many rows the ''database'' counted; [[insert.InsertBatches]] does it by INSERTs, and
  *     [[insert.TemporaryMerge]] upserts through a temporary table
  *
  * Methods with a body need not be overridden. Every method that takes a connection runs inside its open transaction, unless its
  * doc says otherwise.
  */
trait Dialect {

  /** The database's name, for messages. */
  def name: String

  def handles(url: String): Boolean

  /** The driver for a URL. None: any driver on the class path that accepts it. */
  def driver(url: String): Option[JdbcDriver] =
    DriverProperties.driver(url).map { case (className, artifact) => JdbcDriver(className, artifact) }

  def abilities: Abilities = Abilities()

  def catalog: Catalog
  def types: TypeRules
  def errors: DriverErrors

  /** None if the database does not show which session waits for which. */
  def sessions: Option[Sessions] = None

  def ledger: LedgerDialect

  /** Refuses options without connecting, before the driver can create files: a bad place or mode. */
  def check(@unused options: JdbcOptions): Either[EpochalException, Unit] = Right(())

  /** Refuses a server that is too old; outside a transaction. */
  def check(@unused connection: Connection): Either[EpochalException, Unit] = Right(())

  /** For a database that is a file: the files that a connection keeps open, the database itself first. A transaction fails when
    * one of them is deleted or replaced, since it would write to a file that no path leads to.
    */
  def files(@unused settings: ConnectionSettings): Seq[Path] = Nil

  /** Default driver properties; the user's own override them. */
  def properties(@unused settings: ConnectionSettings, @unused lockTimeout: Duration): Map[String, String] =
    Map.empty

  /** The names of those properties that change the database itself. A connection that only reads does not set them. */
  def lastingProperties: Set[String] = Set.empty

  /** Who holds locks on the database, for the message of a lock timeout; empty: not known. */
  def lockHolders(@unused settings: ConnectionSettings): Seq[String] = Nil

  def quote(name: String): String = Sql.quoted(name)

  def quote(name: QualifiedName): String = s"${quote(name.schema)}.${quote(name.table)}"

  /** The clause of ALTER TABLE that gives a column another type, or lets it be NULL; None: the database has none.
    *
    * @param columnType
    *   None: it stays
    */
  def alter(
      @unused column: TargetColumn,
      @unused columnType: Option[String],
      @unused nullable: Boolean): Option[String] = None

  // Trust: the sink runs with rights that others in the database lack.

  /** Runs the checks before the start, on a connection without a transaction. */
  def inspecting[A](@unused connection: Connection)(body: => A): A = body

  /** Runs statements that can start code that users have put on a table: triggers, defaults, rules. */
  def writing[A](@unused connection: Connection)(body: => A): A = body

  /** Refuses a table that the sink found by its fixed name if another role could have planted it to run code with the rights of the
    * writing role.
    *
    * @param named
    *   the user named its schema explicitly
    */
  def checkTrusted(
      @unused connection: Connection,
      @unused table: QualifiedName,
      @unused trust: Trust,
      @unused named: Boolean): Unit = ()

  /** Refusal of a foreign key between tables of one query that their rows would violate until the epoch ends. */
  def obstacle(@unused connection: Connection, @unused tables: Seq[BoundTable]): Option[EpochalException] = None

  // Transactions.

  /** Statements that give this login the privileges of a write, for an administrator to run. Asks the catalog once,
    * and only for what is certainly needed. Nil also where the database cannot tell.
    */
  def missingPrivileges(@unused connection: Connection, @unused needs: WriteNeeds): Seq[String] = Nil

  /** Refusal of a table whose definition would drop, divert or reject rows of this write, whatever the privileges. */
  def obstacle(
      @unused connection: Connection,
      @unused bound: BoundTable,
      @unused options: JdbcOptions): Option[EpochalException] = None

  /** Opens a transaction with its guards: timeouts, durable commits, no row security.
    *
    * @param writer
    *   the run whose transaction it is, visible to other sessions until it ends, if a successor may have to wait for it
    * @return
    *   the transaction's id, if the database can report its outcome later
    */
  def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String]

  /** Begins a transaction and runs a query: in one round trip, where the driver sends several statements at once.
    *
    * @param load
    *   to be prepared, too
    */
  def begin[A](
      connection: Connection,
      lockTimeout: Duration,
      writer: Option[Writer],
      first: Sql,
      @unused load: Option[PreparedLoad])(read: ResultSet => A): (Option[String], Seq[A]) = {
    val id = begin(connection, lockTimeout, writer)
    try (id, first.query(connection)(read))
    catch {
      case error: Throwable =>
        try rollback(connection)
        catch { case NonFatal(second) => error.addSuppressed(second) }
        throw error
    }
  }

  /** A load that the beginning of a transaction can prepare, for rows on the driver; None: there is none. */
  def preparedLoad(@unused table: BoundTable): Option[PreparedLoad] = None

  def commit(connection: Connection): Unit = connection.commit()

  /** Runs statements, then commits: all in one round trip, where the driver sends several statements at once. */
  def commit(connection: Connection, last: Seq[Sql]): Unit = {
    last.foreach(_.run(connection))
    commit(connection)
  }
  def rollback(connection: Connection): Unit = connection.rollback()

  /** Whether another connection's transaction was committed, once decided; None if the database cannot report it: then the
    * ledger row decides.
    *
    * @throws java.sql.SQLException
    *   a transient one, while the transaction is in progress
    */
  def isCommitted(@unused connection: Connection, @unused transaction: String): Option[Boolean] = None

  def server(connection: Connection): ServerIdentity

  // Rows.

  /** How tasks encode rows. */
  def rowFormat(table: BoundTable): RowFormat

  /** Loads rows that tasks encoded with `rowFormat` into the table. */
  def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded

  /** The ways in which tasks can bring rows to the database themselves: `staged`, `prepared`, or none. */
  def bulk: Seq[BulkLoad] = Nil
}
