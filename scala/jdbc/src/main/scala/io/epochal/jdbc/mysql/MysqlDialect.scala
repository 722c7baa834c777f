package io.epochal.jdbc.mysql

import java.sql.Connection
import java.time.Duration

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.jdbc.database._
import io.epochal.jdbc.insert.RowBytes
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{ConnectionSettings, QualifiedName, Sql}
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** MySQL 8.0, MariaDB 10.6, and newer, with InnoDB tables. A schema is what MySQL calls a database. */
class MysqlDialect extends Dialect with BuiltInDialect {

  private val ShortestIdle = 30L

  /** Bytes of a text that the server compares to sort; more than a key can have. */
  private val LongestSorted = 4096

  override val name = "MySQL"
  override def handles(url: String): Boolean = url.startsWith("jdbc:mariadb:") || url.startsWith("jdbc:mysql:")

  override def properties(settings: ConnectionSettings, lockTimeout: Duration): Map[String, String] =
    (Map("connectTimeout" -> "10000", "tcpKeepAlive" -> "true") ++ LocalInfile.properties(settings))
      .filterNot { case (key, _) => settings.url.contains(s"$key=") }

  /** A name may come from the server. */
  override def quote(name: String): String =
    if (LocalInfile.isIn(name))
      throw JdbcOptions.unsupported(
        s"use the name '$name'",
        "with it, a statement could make the driver send a file of this machine to the server",
        "Rename it.")
    else s"`${name.replace("`", "``")}`"

  override val abilities: Abilities =
    Abilities(
      deletes = true,
      flushes = true,
      addsColumns = true,
      altersColumns = true,
      ddlCommits = true,
      longestName = 64,
      namesCountCharacters = true,
      ignoresCase = true)
  override def catalog: Catalog = MysqlCatalog
  override def types: TypeRules = MysqlType
  override def errors: DriverErrors = MysqlErrors
  override val sessions: Option[Sessions] = Some(MysqlSessions)

  override def alter(column: TargetColumn, columnType: Option[String], nullable: Boolean): Option[String] =
    Option.when(column.isPlain && !column.filled) {
      val kind = MysqlType.of(column)
      val collation = if (kind.isText) s" COLLATE ${kind.collation}" else ""
      val isNull = if (nullable || column.nullable) "NULL" else "NOT NULL"
      s"MODIFY COLUMN ${quote(column.name)} ${columnType.getOrElse(kind.declaration + collation)} $isNull"
    }

  override def check(connection: Connection): Either[EpochalException, Unit] = MysqlVersion.of(connection).check

  override def missingPrivileges(connection: Connection, needs: WriteNeeds): Seq[String] =
    MysqlPrivileges.missing(connection, needs)

  /** The server checks a foreign key row by row, never at the end. */
  override def obstacle(connection: Connection, bound: BoundTable, options: JdbcOptions): Option[EpochalException] =
    if (bound.operation.isEmpty) None
    else
      MysqlCatalog.selfReference(connection, bound.table.name).map { key =>
        val drop = s"ALTER TABLE ${quote(bound.table.name)} DROP FOREIGN KEY ${quote(key)}"
        JdbcOptions.unsupported(
          s"write changes to ${bound.table.name}",
          s"its foreign key $key refers to the table itself, and is checked for each row before the others are stored",
          s"$drop. The source checks it.")
      }

  override def obstacle(connection: Connection, tables: Seq[BoundTable]): Option[EpochalException] =
    MysqlCatalog.reference(connection, tables.map(_.table.name)).map { case (table, key) =>
      val drop = s"ALTER TABLE ${quote(table)} DROP FOREIGN KEY ${quote(key)}"
      JdbcOptions.unsupported(
        s"write to $table and the table that its foreign key $key refers to",
        "it is checked for each row before the others are stored",
        s"$drop. The source checks it.")
    }

  override def rowFormat(table: BoundTable): RowFormat = RowBytes(table, MysqlRules)

  /** Sets the session's variables for each transaction, since a pooler may switch sessions. Without strict mode, MySQL would
    * silently cut values, turn a 0 into the next AUTO_INCREMENT number, and possibly an empty text into NULL. The setting that
    * the driver knows (backslash escapes) is kept. MariaDB ends transactions of idle clients, which frees what a frozen driver
    * holds.
    */
  override def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String] = {
    val seconds = math.max(1L, lockTimeout.toSeconds)
    Sql.run(connection, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
    Sql.run(
      connection,
      text"""SET SESSION innodb_lock_wait_timeout = $seconds, lock_wait_timeout = $seconds, time_zone = '+00:00',
         |/*M!100301 idle_transaction_timeout = ${math
          .max(seconds, ShortestIdle)}, */ group_concat_max_len = 1048576, default_storage_engine = 'InnoDB',
         |max_sort_length = $LongestSorted,
         |sql_mode = CONCAT(IF(FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@sql_mode), 'NO_BACKSLASH_ESCAPES,', ''),
         |  'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION')"""
    )
    Sql.run(connection, "START TRANSACTION")
    writer.foreach(MysqlSessions.mark(connection, _))
    None
  }

  // As statements: the driver's autocommit stays on, since switching it costs two round trips.
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

  // GET_LOCK would belong to the session, not to the transaction, so `serializeClaims` is not overridden.
  override object ledger
      extends LedgerDialect(
        "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "BIGINT",
        "DATETIME(6)",
        " FOR UPDATE",
        tableOptions = " ENGINE=InnoDB") {
    override val now = "UTC_TIMESTAMP(6)"
    override def same(left: String, right: String): String = s"$left <=> $right"
    override def table(name: QualifiedName): String = quote(name)
    override def column(name: String): String = quote(name)
  }
}

/** The shared instance: the dialect is stateless. */
object MysqlDialect extends MysqlDialect
