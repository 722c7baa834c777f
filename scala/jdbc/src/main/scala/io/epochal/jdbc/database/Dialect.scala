package io.epochal.jdbc.database

import java.nio.file.Path
import java.sql.{Connection, SQLException}
import java.time.Duration
import java.util.ServiceLoader

import scala.annotation.unused
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.DataType

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.option.{ConnectionSettings, DriverProperties, JdbcOptions, QualifiedName, TableName}
import io.epochal.jdbc.sql.Sql
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** Everything that differs between databases. The rest of the sink names no database.
  *
  * A dialect of your own is a class with a constructor without parameters, named in the resource
  * `META-INF/services/io.epochal.jdbc.database.Dialect`; it comes before Epochal's own. Extend [[generic.GenericDialect]]
  * and override what your database does better, or this trait for one of a different kind. What it owes:
  *
  *   - '''tables''': `quote` and a [[Catalog]]
  *   - '''types''': what its [[TypeRules]] declare must be among what they accept; a value that a column cannot hold as it is must
  *     be refused by the task (`rowFormat`), an error of the database, or not fit: it is never rounded, cut or turned into NULL
  *   - '''transactions''': after `begin`, reads see what others have committed before each statement, and a locked row stays so until
  *     the end; its [[DriverErrors]] read the driver's errors
  *   - '''rows''': `load` tells how many rows the ''database'' counted; [[insert.InsertBatches]] does it by INSERTs, and
  *     [[insert.TemporaryMerge]] upserts through a temporary table
  *
  * Methods with a body may stay as they are. Every method that takes a connection runs inside the transaction that is open
  * on it, unless it says otherwise.
  */
trait Dialect {

  /** For messages. */
  def name: String

  def handles(url: String): Boolean

  /** The driver for a URL. None: any that the class path has for it. */
  def driver(url: String): Option[JdbcDriver] =
    DriverProperties.driver(url).map { case (className, artifact) => JdbcDriver(className, artifact) }

  def abilities: Abilities = Abilities()

  def catalog: Catalog
  def types: TypeRules
  def errors: DriverErrors

  /** None where nobody could tell for whom a session waits. */
  def sessions: Option[Sessions] = None

  def ledger: LedgerDialect

  /** What can be refused without connecting, and must be before the driver makes files: a place, a mode. */
  def check(@unused options: JdbcOptions): Either[EpochalException, Unit] = Right(())

  /** The same for what this server is too old for; outside a transaction. */
  def check(@unused connection: Connection): Either[EpochalException, Unit] = Right(())

  /** The files that a connection of the driver's keeps open, of a database that is a file: its own first. A transaction fails
    * when one of them is deleted or replaced: what it writes would be in no file that anybody finds.
    */
  def files(@unused settings: ConnectionSettings): Seq[Path] = Nil

  /** Driver properties; the user's own come on top. */
  def properties(@unused settings: ConnectionSettings, @unused lockTimeout: Duration): Map[String, String] =
    Map.empty

  def quote(name: String): String = "\"" + name.replace("\"", "\"\"") + "\""

  def quote(name: QualifiedName): String = s"${quote(name.schema)}.${quote(name.table)}"

  // Trust (K19).

  /** Runs the checks before the start, on a connection without a transaction. */
  def inspecting[A](@unused connection: Connection)(body: => A): A = body

  /** Runs statements that can start code that users have put on a table: triggers, defaults, rules. */
  def writing[A](@unused connection: Connection)(body: => A): A = body

  /** Refuses a table that the sink has found by a name of its own, if somebody could have planted it to run code with the
    * rights of the role that writes.
    *
    * @param named
    *   the user has named its schema
    */
  def checkTrusted(
      @unused connection: Connection,
      @unused table: QualifiedName,
      @unused trust: Trust,
      @unused named: Boolean): Unit = ()

  // Transactions.

  /** Opens a transaction, with its guards (K13).
    *
    * @param writer
    *   whose it is, where a successor may have to wait for it: other sessions can see that until it ends
    * @return
    *   the transaction's id, if the database can be asked later what became of it
    */
  def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String]

  def commit(connection: Connection): Unit = connection.commit()
  def rollback(connection: Connection): Unit = connection.rollback()

  /** Whether a transaction of another connection was committed, once that is decided; None when the database cannot tell: the
    * ledger row does.
    *
    * @throws SQLException
    *   a transient one, while the transaction is under way
    */
  def isCommitted(@unused connection: Connection, @unused transaction: String): Option[Boolean] = None

  def server(connection: Connection): ServerIdentity

  // Rows.

  /** How tasks turn rows into bytes. */
  def rowFormat(table: BoundTable): RowFormat

  /** Puts rows that tasks encoded with `rowFormat` into the table. */
  def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded

  /** The ways in which tasks can bring rows to the database themselves: `staged`, `prepared`, or none. */
  def bulk: Seq[BulkLoad] = Nil
}

/** What a database can do beyond appending and upserting, and what it limits.
  *
  * @param deletes
  *   a load removes rows by their keys where [[BoundTable.operation]] says so
  * @param flushes
  *   tasks can append rows in transactions of their own, in the middle of an epoch (K12); else only the driver writes
  * @param altersInTransaction
  *   ALTER TABLE is part of the transaction, and is taken back with it
  * @param ddlCommits
  *   CREATE TABLE and the like commit the transaction that is open: then a claim makes its tables in one of their own first
  * @param maxConnections
  *   that one JVM may hold to one database, unless the user says how many
  * @param longestName
  *   bytes in UTF-8
  */
final case class Abilities(
    deletes: Boolean = false,
    flushes: Boolean = false,
    altersInTransaction: Boolean = false,
    ddlCommits: Boolean = false,
    maxConnections: Int = 8,
    longestName: Int = Int.MaxValue)

/** The tables of a database. */
trait Catalog {

  /** The table that is meant, as written or in the database's own case. */
  def find(connection: Connection, name: TableName): Option[TargetTable]

  /** Names of tables near it, to suggest one. */
  def tableNames(connection: Connection, name: TableName): Seq[String]

  /** What a table that is to be made will be called. */
  def newName(connection: Connection, name: TableName): QualifiedName

  def exists(connection: Connection, table: QualifiedName): Boolean

  /** Marks a table with a number that is lost when the table is dropped, where the database has none for it. Where nothing like
    * it can be had, a table that is dropped and made again is not noticed.
    */
  def identify(@unused connection: Connection, table: TargetTable): TargetTable = table

  /** SQL for the number, as `identify` would give it now; `NULL` where there is no table. */
  def identitySql(@unused table: QualifiedName): String = "NULL"

  /** SQL for a text that changes when the types of the columns that rows are bound to do; never NULL. */
  def shapeSql(table: BoundTable): String

  final def identity(connection: Connection, table: QualifiedName): Option[Long] =
    Sql.query(connection, s"SELECT ${identitySql(table)} AS oid")(Sql.long(_, "oid")).head

  final def shape(connection: Connection, table: BoundTable): String =
    Sql.query(connection, s"SELECT ${shapeSql(table)}")(_.getString(1)).head
}

/** Which Spark types go into which columns. */
trait TypeRules {

  /** The type for a column that is to be made. */
  def declare(dataType: DataType): Option[String]

  /** The same for a column of a primary key. */
  def declareKey(dataType: DataType): Option[String] = declare(dataType)

  /** The same, as this server has it: one that compares texts as Spark does. */
  def declareKey(@unused connection: Connection, dataType: DataType): Option[String] = declareKey(dataType)

  /** For a hint: how a column is declared that compares texts as Spark does. */
  def exactKey: String = "a type and collation that compare byte by byte"

  /** Whether every value of the type can be stored without loss, or is refused by the task; else the type to cast to. */
  def fits(dataType: DataType, columnType: ColumnType): Either[Option[String], Unit]

  /** Whether the database sorts the stored values as the query's are sorted. */
  def sorts(@unused dataType: DataType, @unused columnType: ColumnType): Boolean = true
}

/** What the errors of a database and its driver mean. */
trait DriverErrors {

  /** Whether the same can succeed if tried again. */
  def verdict(error: SQLException): Verdict

  /** Whether the error may have come after the transaction was committed. */
  def losesConnection(error: SQLException): Boolean

  /** Whether a failed connection must not be used again, though it may still answer. */
  def outlives(error: SQLException): Boolean = losesConnection(error)

  /** Whether the server is there, but takes no connection yet: it starts, or has as many as it may. */
  def opensLater(@unused error: SQLException): Boolean = false

  /** What an error means, where it has a name of its own. */
  def known(@unused error: SQLException): Option[DatabaseFailure] = None
}

/** SQL fragments that the ledger's statements need. */
trait LedgerDialect {
  def text: String
  def bigint: String
  def timestamp: String

  /** SQL for this moment. */
  def now: String

  /** Locks the rows of a SELECT until the transaction ends. */
  def forUpdate: String

  /** Whether that takes an UPDATE that changes nothing, made before the SELECT. */
  def locksByUpdate: Boolean = false

  /** SQL for a table of the ledger. */
  def table(name: QualifiedName): String

  /** SQL for a column whose name may be a reserved word. */
  def column(name: String): String = name

  /** Appended to CREATE TABLE. */
  def tableOptions: String = ""

  /** SQL for "equal, or both NULL". */
  def same(left: String, right: String): String

  /** Lets one claim in this database go on at a time, until its transaction ends. False: it has no such lock, and the row of
    * a table `epochal_ledger_lock` serves.
    */
  def serializeClaims(@unused connection: Connection): Boolean = false
}

/** A database error with a condition of its own. */
sealed trait DatabaseFailure

object DatabaseFailure {

  /** One row alone is more than a statement may have.
    *
    * @param setting
    *   of the server
    */
  final case class RowTooLarge(setting: String) extends DatabaseFailure

  /** @param setting
    *   of the server
    */
  final case class TooManyConnections(setting: String) extends DatabaseFailure
}

/** What a load did. */
sealed trait Loaded

object Loaded {

  /** @param stored
    *   rows that the database says it stored
    * @param expected
    *   rows that it should have stored: all sent, less those of the same key that lost by the order column
    */
  final case class Rows(stored: Long, expected: Long) extends Loaded {

    /** @throws EpochalException
      *   ROWS_DROPPED: the database stored fewer rows than it was sent, or more (K13)
      */
    def check(epoch: String, table: QualifiedName): Unit =
      if (stored != expected)
        throw Conditions.RowsDropped(
          "stored" -> stored,
          "sent" -> expected,
          "epoch" -> epoch,
          "table" -> table,
          "found" -> s"the database stored $stored of the ${Plural.of(expected, "row")}")
  }

  /** Rows share a key, and nothing orders them. */
  final case class DuplicateKeys(rows: Long) extends Loaded
}

/** The JDBC driver of a database.
  *
  * @param artifact
  *   `group:name` of its jar, where that is not Epochal's
  */
final case class JdbcDriver(className: String, artifact: Option[String] = None)

/** A dialect of Epochal's own: asked after those of users. */
private[jdbc] trait BuiltInDialect { this: Dialect => }

/** Takes any URL: asked after all others. */
private[jdbc] trait LastDialect extends BuiltInDialect { this: Dialect => }

/** Dialects that are made of something else; named in a service file of Epochal's. */
private[jdbc] trait Dialects {
  def found(loader: ClassLoader): Seq[Dialect]
}

object Dialect {

  /** The dialect for a URL: users' own come before Epochal's. */
  def of(url: String): Option[Dialect] = registered.sortBy(rank).find(_.handles(url))

  private def rank(dialect: Dialect): Int = dialect match {
    case _: LastDialect    => 2
    case _: BuiltInDialect => 1
    case _                 => 0
  }

  private def registered: Seq[Dialect] = DriverAccess.current.loaders.flatMap { loader =>
    ServiceLoader.load(classOf[Dialects], loader).asScala.flatMap(_.found(loader)) ++
      ServiceLoader.load(classOf[Dialect], loader).asScala
  }
}
