package io.epochal.jdbc.database

import java.nio.file.Path
import java.sql.{Connection, ResultSet, SQLException}
import java.time.Duration

import scala.annotation.unused
import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.types._

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.{ConnectionSettings, DriverProperties, JdbcDriver, QualifiedName, Sql, TableName}
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
    * @throws SQLException
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

/** Capabilities of a database beyond append and upsert, and its limits.
  *
  * @param deletes
  *   a load deletes rows by key where [[BoundTable.operation]] says so
  * @param flushes
  *   tasks can append rows in their own transactions, in the middle of an epoch; otherwise only the driver writes
  * @param altersInTransaction
  *   ALTER TABLE is transactional: a rollback undoes it
  * @param ddlCommits
  *   CREATE TABLE and other DDL commit the open transaction: a claim then creates its tables in a separate one first
  * @param maxConnections
  *   maximum per JVM, unless the user sets it
  * @param longestName
  *   in bytes of UTF-8, or in characters
  * @param namesCountCharacters
  *   whether it is in characters
  * @param ignoresCase
  *   a table cannot have two columns whose names differ only in case
  */
final case class Abilities(
    deletes: Boolean = false,
    flushes: Boolean = false,
    altersInTransaction: Boolean = false,
    ddlCommits: Boolean = false,
    maxConnections: Int = 8,
    longestName: Int = Int.MaxValue,
    namesCountCharacters: Boolean = false,
    ignoresCase: Boolean = false)

/** The tables of a database. */
trait Catalog {

  /** The table of that name, as written or in the database's own case. */
  def find(connection: Connection, name: TableName): Option[TargetTable]

  /** Names of tables in the same schema, for suggestions. */
  def tableNames(connection: Connection, name: TableName): Seq[String]

  /** The name that a new table would get. */
  def newName(connection: Connection, name: TableName): QualifiedName

  def exists(connection: Connection, table: QualifiedName): Boolean

  /** Marks the table, so that a recreated table of the same name is recognised, where the database has no table id. Where no mark
    * is possible, a recreated table goes unnoticed.
    */
  def identify(@unused connection: Connection, table: TargetTable): TargetTable = table

  /** SQL for the table's current id, as `identify` would return it; `NULL` if there is no table. */
  def identitySql(@unused table: QualifiedName): String = "NULL"

  /** SQL for a text that changes whenever the types of the bound columns change; never NULL. */
  def shapeSql(table: BoundTable): String

  /** Refuses a table, or a database. */
  final protected def refuse(target: Any, reason: String, suggestion: String): Nothing =
    throw JdbcOptions.unsupported(s"write to $target", reason, suggestion)

  final def identity(connection: Connection, table: QualifiedName): Option[Long] =
    Sql.query(connection, s"SELECT ${identitySql(table)} AS oid")(Sql.long(_, "oid")).head

  final def shape(connection: Connection, table: BoundTable): String =
    Sql.query(connection, s"SELECT ${shapeSql(table)}")(_.getString(1)).head
}

/** Which Spark types each column type can store. */
trait TypeRules {

  /** The type of a new column. */
  def declare(dataType: DataType): Option[String]

  /** The type of a new column of a primary key. */
  def declareKey(dataType: DataType): Option[String] = declare(dataType)

  /** Same, on this server: a type that compares texts as Spark does. */
  def declareKey(@unused connection: Connection, dataType: DataType): Option[String] = declareKey(dataType)

  /** For a hint: how to declare a column that compares texts as Spark does. */
  def exactKey: String = "a type and collation that compare byte by byte"

  /** Whether every value of the type is stored without loss or refused by the task. */
  def takes(dataType: DataType, columnType: ColumnType): Boolean

  /** The types to which values for a column can be cast, the widest first; those that it does not take are skipped. */
  protected def casts(@unused columnType: ColumnType): Seq[DataType] =
    Seq(DoubleType, FloatType, LongType, IntegerType, ShortType, ByteType, BooleanType, DateType) ++
      Seq(TimestampType, TimestampNTZType, BinaryType, StringType)

  /** The decimal type of a column, as far as Spark has it. */
  final protected def decimal(precision: Int, scale: Int): DecimalType =
    Try(DecimalType(math.min(precision, DecimalType.MAX_PRECISION), scale)).getOrElse(DecimalType.SYSTEM_DEFAULT)

  /** Whether the column takes the type; otherwise the type to cast to. */
  final def fits(dataType: DataType, columnType: ColumnType): Either[Option[String], Unit] =
    Either.cond(takes(dataType, columnType), (), casts(columnType).find(takes(_, columnType)).map(_.sql))

  /** Whether the server parses the query's texts for the column: they cannot be copied into it directly. */
  def parses(@unused dataType: DataType, @unused columnType: ColumnType): Boolean = false

  /** Whether the database sorts the stored values as Spark sorts the query's. */
  def sorts(@unused dataType: DataType, @unused columnType: ColumnType): Boolean = true
}

/** Classifies the errors of a database and its driver. */
trait DriverErrors {

  /** Whether a retry can succeed. */
  def verdict(error: SQLException): Verdict

  /** Whether the error may have come after the transaction was committed. */
  def losesConnection(error: SQLException): Boolean

  /** Whether the connection must not be reused after the error, though it may still respond. */
  def outlives(error: SQLException): Boolean = losesConnection(error)

  /** Whether the server exists but takes no connections yet: it is starting, or at its connection limit. */
  def opensLater(@unused error: SQLException): Boolean = false

  /** Whether the server refused the login, or asked for a password that it did not get. */
  def refusesLogin(error: SQLException): Boolean = Sql.state(error).startsWith("28")

  /** The server setting that limits connections, if the limit is the cause. */
  def tooManyConnections(@unused error: SQLException): Option[String] = None

  /** Whether a lock of somebody else outlasted the lock timeout. */
  def isLocked(@unused error: SQLException): Boolean = false

  /** Whether the database's disk or quota is full. */
  def isFull(error: SQLException): Boolean = Sql.state(error) == "53100"

  /** Whether a missing privilege is the cause. */
  def denied(error: SQLException): Boolean = Sql.state(error) == "42501"

  /** The server setting that limits a statement's size, if a single row exceeds it. */
  def rowTooLarge(@unused error: SQLException): Option[String] = None
}

/** SQL fragments for the ledger's statements.
  *
  * @param text
  *   a column type, like `bigint` and `timestamp`
  * @param forUpdate
  *   locks the rows of a SELECT until the transaction ends
  * @param locksByUpdate
  *   whether locking takes a no-op UPDATE before the SELECT
  * @param tableOptions
  *   appended to CREATE TABLE
  */
abstract class LedgerDialect(
    val text: String,
    val bigint: String,
    val timestamp: String,
    val forUpdate: String = "",
    val locksByUpdate: Boolean = false,
    val tableOptions: String = "") {

  /** SQL for the current time. */
  def now: String

  /** SQL for the name of a ledger table. */
  def table(name: QualifiedName): String

  /** SQL for a column name that may be a reserved word. */
  def column(name: String): String = name

  /** The hidden column of a row's place, where each update moves the row and leaves versions behind that an index lookup must step
    * over, for as long as some old snapshot may need them.
    */
  def place: Option[String] = None

  /** SQL that changes one row of a table, inserts its new state into another one, and fails unless there was one row: the
    * transaction can be committed in the same message. None: the sink counts the rows itself.
    *
    * @param noted
    *   follows INSERT INTO; the changed row is `changed`
    */
  def changeOne(@unused update: Sql, @unused noted: Sql): Option[Sql] = None

  /** Whether the error is that of [[changeOne]] without a row. */
  def isUnchanged(@unused error: SQLException): Boolean = false

  /** SQL for "equal, or both NULL". */
  def same(left: String, right: String): String

  /** Admits one claim in this database at a time, until its transaction ends. False: the database has no such lock, and a row of
    * the table `epochal_ledger_lock` is locked instead.
    */
  def serializeClaims(@unused connection: Connection): Boolean = false
}

/** A dialect of Epochal's own: ranked after users' dialects. */
private[jdbc] trait BuiltInDialect { this: Dialect => }
