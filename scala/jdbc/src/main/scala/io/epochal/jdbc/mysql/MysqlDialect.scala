package io.epochal.jdbc.mysql

import java.sql.{Connection, SQLException}
import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database._
import io.epochal.jdbc.insert.RowBytes
import io.epochal.jdbc.option.{ConnectionSettings, JdbcOptions, QualifiedName}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._
import io.epochal.jdbc.table.DeadLetterTable
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** MySQL 8.0, MariaDB 10.6, and newer, with InnoDB tables. A schema is what MySQL calls a database. */
class MysqlDialect extends Dialect with BuiltInDialect {

  private val ShortestIdle = 30L

  override val name = "MySQL"
  override def handles(url: String): Boolean = url.startsWith("jdbc:mariadb:") || url.startsWith("jdbc:mysql:")

  /** A server must not be able to ask for the driver's files. */
  override def properties(settings: ConnectionSettings, lockTimeout: Duration): Map[String, String] =
    Map("connectTimeout" -> "10000", "tcpKeepAlive" -> "true", "allowLocalInfile" -> "false")
      .filterNot { case (key, _) => settings.url.contains(s"$key=") }

  override def quote(name: String): String = s"`${name.replace("`", "``")}`"

  override val abilities: Abilities = Abilities(flushes = true, ddlCommits = true, longestName = 64)
  override def catalog: Catalog = MysqlCatalog
  override def types: TypeRules = MysqlType
  override def errors: DriverErrors = MysqlErrors
  override val sessions: Option[Sessions] = Some(MysqlSessions)

  override def check(options: JdbcOptions): Either[EpochalException, Unit] = DeadLetterTable.refused(options, name)
  override def check(connection: Connection): Either[EpochalException, Unit] = MysqlVersion.of(connection).check

  override def rowFormat(table: BoundTable): RowFormat =
    RowBytes(table, MysqlRules)

  /** Settings of the session are made anew for each transaction, as a pooler may hand on another one. Without strictness
    * values would be cut in silence, a 0 would become the next number of an AUTO_INCREMENT column, an empty text could be
    * NULL. What the driver knows of the session (backslashes) stays. MariaDB ends a
    * transaction whose client is silent: what a frozen driver holds is free then.
    */
  override def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String] = {
    val seconds = math.max(1L, lockTimeout.toSeconds)
    Sql.run(connection, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    Sql.run(
      connection,
      text"""SET SESSION innodb_lock_wait_timeout = $seconds, lock_wait_timeout = $seconds, time_zone = '+00:00',
         |/*M!100301 idle_transaction_timeout = ${math
          .max(seconds, ShortestIdle)}, */ group_concat_max_len = 1048576, default_storage_engine = 'InnoDB',
         |sql_mode = CONCAT(IF(FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@sql_mode), 'NO_BACKSLASH_ESCAPES,', ''),
         |  'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION')"""
    )
    Sql.run(connection, "START TRANSACTION")
    writer.foreach(MysqlSessions.mark(connection, _))
    None
  }

  // By statements, since the driver's automatic commit stays on: to switch it costs two round trips.
  override def commit(connection: Connection): Unit = Sql.run(connection, "COMMIT")
  override def rollback(connection: Connection): Unit = Sql.run(connection, "ROLLBACK")

  override def server(connection: Connection): ServerIdentity =
    ServerIdentity(
      Sql
        .query(connection, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid')")(_.getString(2))
        .headOption
        .getOrElse("unknown"),
      None)

  override def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    MysqlLoad(connection, table, rows, batchSize)

  override object ledger extends LedgerDialect {
    override val text = "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    override val bigint = "BIGINT"
    override val timestamp = "DATETIME(6)"
    override val now = "UTC_TIMESTAMP(6)"
    override val forUpdate = " FOR UPDATE"
    // GET_LOCK would belong to the session, not to the transaction: so `serializeClaims` stays as it is.
    override val tableOptions = " ENGINE=InnoDB"
    override def same(left: String, right: String): String = s"$left <=> $right"
    override def table(name: QualifiedName): String = quote(name)
    override def column(name: String): String = quote(name)
  }
}

/** It has no state: one serves all. */
object MysqlDialect extends MysqlDialect

/** What the server's and the drivers' error numbers mean for a transaction. */
private[mysql] object MysqlErrors extends DriverErrors {

  /** The connection is gone: server shutting down, network, killed; the drivers' own numbers from 2000 on. */
  private val Lost = Set(1053, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2013, 2055)

  /** Deadlock, lock wait timeout, changed since read, too many connections or transactions, group replication's rollback. */
  private val Busy = Set(1213, 1205, 1020, 1040, 1203, 1226, 1637, 3101)

  /** A primary that became a replica: another connection may lead to the new one. */
  private val ReadOnly = Set(1290, 1792, 1836)

  /** Access denied, no such database, protocol violated: of class 08 or with it, but they will not pass. */
  private val Wrong = Set(1043, 1044, 1045, 1049, 1251)

  /** What MariaDB's driver says when the connection was lost in a transaction, at its COMMIT too, and another server of the
    * URL has answered since.
    */
  private val LostInTransaction = "25S03"

  override def losesConnection(error: SQLException): Boolean =
    !Wrong(error.getErrorCode) && !packetTooLarge(error) &&
      (Lost(error.getErrorCode) || state(error).startsWith("08") || state(error) == LostInTransaction)

  val PacketTooLarge = 1153

  /** The server's own number, and what drivers say that look before they send: their states are those of a lost connection. */
  private def packetTooLarge(error: SQLException): Boolean =
    error.getErrorCode == PacketTooLarge || Option(error.getMessage).exists(_.contains("max_allowed_packet"))

  /** Of the server, of the user in all, of the user's resources. */
  private def tooManyConnections(error: SQLException): Boolean = Set(1040, 1203, 1226)(error.getErrorCode)

  /** A privilege is missing: for the table, the database, the column, or such as PROCESS. */
  def denied(error: SQLException): Boolean = Set(1142, 1044, 1143, 1227)(error.getErrorCode)

  private def readOnly(error: SQLException): Boolean = ReadOnly(error.getErrorCode)

  override def verdict(error: SQLException): Verdict = {
    val passes = losesConnection(error) || readOnly(error) || Busy(error.getErrorCode) ||
      state(error).startsWith("40") || state(error) == "55P03"
    if (passes && !packetTooLarge(error)) Verdict.Retry else Verdict.GiveUp
  }

  override def outlives(error: SQLException): Boolean = losesConnection(error) || readOnly(error)
  override def opensLater(error: SQLException): Boolean = tooManyConnections(error)

  override def known(error: SQLException): Option[DatabaseFailure] =
    if (packetTooLarge(error)) Some(DatabaseFailure.RowTooLarge("max_allowed_packet"))
    else if (tooManyConnections(error))
      Some(DatabaseFailure.TooManyConnections("max_connections and max_user_connections"))
    else None

  private def state(error: SQLException): String = Option(error.getSQLState).getOrElse("")
}
