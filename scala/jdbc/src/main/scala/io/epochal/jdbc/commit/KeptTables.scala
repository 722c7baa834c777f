package io.epochal.jdbc.commit

import java.sql.{Connection, ResultSet}

import io.epochal.core.ledger.TriggerMode
import io.epochal.jdbc.database._
import io.epochal.kit.database.{QualifiedName, Sql}

/** Tables that the sink keeps beside its target. All methods run in the caller's transaction.
  *
  * @param trust
  *   the target whose tables they are, and who may have created them
  */
abstract private[jdbc] class KeptTables(dialect: Dialect, protected val trust: Trust) {
  protected val words: LedgerDialect = dialect.ledger
  protected val forUpdate: Sql = Sql.raw(words.forUpdate)
  protected def now: Sql = Sql.raw(words.now)

  protected def qualified(table: String): QualifiedName = QualifiedName(trust.target.schema, table)
  protected def quoted(table: String): Sql = Sql.raw(words.table(qualified(table)))

  /** Whether the table exists; an untrusted one is an error. */
  protected def exists(connection: Connection, table: String): Boolean =
    dialect.catalog.exists(connection, qualified(table)) && {
      dialect.checkTrusted(connection, qualified(table), trust, named = false)
      true
    }

  protected def trigger(rows: ResultSet): TriggerMode = {
    val name = rows.getString("trigger_mode")
    TriggerMode.parse(name).getOrElse(throw new IllegalStateException(s"the ledger has no such trigger: '$name'"))
  }

  protected def make(connection: Connection, table: String, columns: String): Unit =
    if (!exists(connection, table))
      Sql.create(connection, s"CREATE TABLE ${words.table(qualified(table))} ($columns)${words.tableOptions}")(
        exists(connection, table))
}
