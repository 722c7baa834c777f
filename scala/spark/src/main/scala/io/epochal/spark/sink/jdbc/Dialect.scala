package io.epochal.spark.sink.jdbc

import java.sql.{Connection, SQLException}
import java.time.Duration

import org.apache.spark.sql.types.DataType

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.spark.sink.jdbc.postgres.PostgresDialect
import io.epochal.spark.sink.jdbc.sqlite.SqliteDialect

/** All that differs from database to database. The rest of the sink names none.
  *
  * Every method that takes a connection runs inside the transaction that is open on it, unless it says otherwise.
  */
trait Dialect {

  /** For people. */
  def name: String

  /** Class of the driver in Epochal's jar. */
  def driver: String

  def handles(url: String): Boolean

  /** What can be refused without connecting, and must be before the driver makes files. */
  def checkPlace(settings: ConnectionSettings): Either[EpochalException, Unit]

  /** Whether there is no database yet: it will be made by the first connection. */
  def isNew(settings: ConnectionSettings): Boolean

  /** Driver properties; the user's own come on top. */
  def properties(settings: ConnectionSettings, lockTimeout: Duration): Map[String, String]

  /** Connections that one JVM may hold to one database. */
  def maxConnections: Int

  // What it can do beyond appending and upserting.

  /** Whether a load removes rows by their keys where [[BoundTable.operation]] says so. */
  def deletes: Boolean = false

  /** Whether ALTER TABLE is part of the transaction, and is taken back with it. */
  def altersInTransaction: Boolean = false

  // Tables.

  /** Bytes of a name in UTF-8. */
  def longestName: Int = Int.MaxValue

  def quote(name: String): String = "\"" + name.replace("\"", "\"\"") + "\""

  final def quote(name: QualifiedName): String = s"${quote(name.schema)}.${quote(name.table)}"

  /** The table that is meant, as written or in the database's own case. */
  def find(connection: Connection, name: TableName): Option[TargetTable]

  /** Names of tables near it, to suggest one. */
  def tableNames(connection: Connection, name: TableName): Seq[String]

  /** What a table that is to be made will be called. */
  def newName(connection: Connection, name: TableName): QualifiedName

  /** Gives a table found a number that is lost when the table is dropped, where it has none by itself. */
  def identify(connection: Connection, table: TargetTable): TargetTable

  /** SQL for the number, as `identify` would give it now; `NULL` where there is no table. */
  def identitySql(table: QualifiedName): String

  /** SQL for a text that changes when the types of the columns that rows are bound to do; never NULL. */
  def shapeSql(table: BoundTable): String

  // Types.

  /** The type for a column that is to be made. */
  def declare(dataType: DataType): Option[String]

  /** Whether every value of the type can be stored without loss, or is refused by the task; else the type to cast to. */
  def fits(dataType: DataType, columnType: ColumnType): Either[Option[String], Unit]

  /** Whether the database sorts the stored values as the query's are sorted. */
  def sorts(dataType: DataType, columnType: ColumnType): Boolean

  /** How tasks turn rows into bytes. */
  def rowFormat(table: BoundTable): RowFormat

  // Transactions.

  /** Opens a transaction, with its guards (K13).
    *
    * @return
    *   the transaction's id, if the database can be asked later what became of it
    */
  def begin(connection: Connection, lockTimeout: Duration): Option[String]

  def commit(connection: Connection): Unit
  def rollback(connection: Connection): Unit

  /** What became of a transaction, on another connection; None when the database no longer knows. */
  def outcome(connection: Connection, transaction: String): Option[TransactionOutcome]

  /** Whether the same can succeed if tried again. */
  def verdict(error: SQLException): Verdict

  /** Whether the error may have come after the transaction was committed. */
  def losesConnection(error: SQLException): Boolean

  def server(connection: Connection): ServerIdentity

  def ledger: LedgerDialect

  // Rows.

  /** The ways in which tasks can bring rows to the database themselves: `staged`, `prepared`, or none. */
  def bulk: Seq[BulkLoad] = Nil

  /** Empties the table so that other transactions see it full until the commit (K10). */
  final def clear(connection: Connection, table: QualifiedName): Unit = {
    val statement = connection.createStatement()
    try statement.executeUpdate(s"DELETE FROM ${quote(table)}"): Unit
    finally statement.close()
  }

  /** Puts rows that tasks encoded with `rowFormat` into the table. */
  def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded
}

/** What a ledger statement needs of a dialect. */
trait LedgerDialect {
  def text: String
  def bigint: String
  def timestamp: String

  /** SQL for this moment. */
  def now: String

  /** Locks the rows of a SELECT until the transaction ends. */
  def forUpdate: String

  /** SQL for "equal, or both NULL". */
  def same(left: String, right: String): String

  /** Lets one claim in this database go on at a time, until its transaction ends. */
  def serializeClaims(connection: Connection): Unit

  def exists(connection: Connection, table: QualifiedName): Boolean
}

sealed trait TransactionOutcome

object TransactionOutcome {
  case object Committed extends TransactionOutcome
  case object Aborted extends TransactionOutcome
  case object InProgress extends TransactionOutcome
}

/** What a load did. */
sealed trait Loaded

object Loaded {

  /** @param stored
    *   rows that the database says it stored
    * @param expected
    *   rows that it should have stored: all sent, less those of the same key that lost by the order column
    */
  final case class Rows(stored: Long, expected: Long) extends Loaded

  /** Rows share a key, and nothing orders them. */
  final case class DuplicateKeys(rows: Long) extends Loaded
}

object Dialect {
  val all: Seq[Dialect] = Seq(PostgresDialect, SqliteDialect)

  def of(url: String): Option[Dialect] = all.find(_.handles(url))
}
