package io.epochal.jdbc.database

import java.sql.{Connection, SQLException}

import scala.annotation.unused

import io.epochal.kit.database.{QualifiedName, Sql}

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
    * @param historyRow
    *   follows INSERT INTO; the changed row is `changed`
    */
  def changeOne(@unused update: Sql, @unused historyRow: Sql): Option[Sql] = None

  /** Whether the error is that of [[changeOne]] without a row. */
  def isUnchanged(@unused error: SQLException): Boolean = false

  /** SQL for "equal, or both NULL". */
  def same(left: String, right: String): String

  /** Admits one claim in this database at a time, until its transaction ends. False: the database has no such lock, and a row of
    * the table `epochal_ledger_lock` is locked instead.
    */
  def serializeClaims(@unused connection: Connection): Boolean = false
}
