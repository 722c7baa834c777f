package io.epochal.jdbc.postgres

import java.sql.{Connection, SQLException}
import java.time.Duration

import scala.util.{Try, Using}

import org.apache.spark.sql.types.{CharType, DataType}

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database.{
  BoundTable,
  BuiltInDialect,
  BulkLoad,
  ColumnType,
  DatabaseFailure,
  Dialect,
  JdbcDriver,
  LedgerDialect,
  Loaded,
  TargetTable,
  Trust
}
import io.epochal.jdbc.option.{ConnectionSettings, JdbcOptions, QualifiedName, TableName}
import io.epochal.jdbc.sql.SqlText._
import io.epochal.jdbc.sql.{Blocker, Sql, Writer}
import io.epochal.kit.sink.TransactionOutcome
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** PostgreSQL 13 and newer. */
class PostgresDialect extends Dialect with BuiltInDialect {

  override val name = "PostgreSQL"
  override def driver(url: String): Some[JdbcDriver] = Some(JdbcDriver("org.postgresql.Driver"))
  override def handles(url: String): Boolean = url.startsWith("jdbc:postgresql:")
  override val deletes = true
  override val flushes = true
  override val altersInTransaction = true
  override val longestName = 63

  override def check(options: JdbcOptions): Either[EpochalException, Unit] = {
    PostgresTls.warn(options.connection)
    Right(())
  }

  /** Tasks of one executor may each hold one; more at a time load no faster, and servers have few. */
  override val maxConnections = 16

  /** Statements named on the server would be missed behind a pooler that hands each transaction another connection. */
  override def properties(settings: ConnectionSettings, lockTimeout: Duration): Map[String, String] =
    Map(
      "ApplicationName" -> "epochal-jdbc",
      "tcpKeepAlive" -> "true",
      "connectTimeout" -> "10",
      "prepareThreshold" -> "0")
      .filterNot { case (key, _) => settings.url.contains(s"$key=") }

  override def find(connection: Connection, name: TableName): Option[TargetTable] =
    PostgresCatalog.find(connection, name)
  override def tableNames(connection: Connection, name: TableName): Seq[String] =
    PostgresCatalog.tableNames(connection, name)
  override def newName(connection: Connection, name: TableName): QualifiedName =
    PostgresCatalog.newName(connection, name)
  override def identitySql(table: QualifiedName): String = s"to_regclass(${literal(quote(table))})::oid::bigint"
  override def shapeSql(table: BoundTable): String =
    sql"""(SELECT COALESCE(string_agg(concat(attname, ' ', atttypid, ' ', atttypmod, ' ', attcollation), ',' ORDER BY attnum), '')
       ||| COALESCE((SELECT ' foreign' FROM pg_class c
       |  WHERE c.oid = to_regclass(${literal(
        quote(table.table.name))}) AND EXISTS (${PostgresCatalog.ForeignMembers})), '')
       |FROM pg_attribute WHERE attrelid = to_regclass(${literal(quote(table.table.name))}) AND NOT attisdropped
       |AND attname IN (${table.columnNames.map(literal).mkString(", ")}))"""

  override def declare(dataType: DataType): Option[String] = PostgresType.declare(dataType)
  override def declareKey(dataType: DataType): Option[String] = dataType match {
    case c: CharType => Some(s"varchar(${c.length})")
    case other       => declare(other)
  }
  override val exactKey = "type text or varchar, and a deterministic collation such as the default or \"C\""
  override def fits(dataType: DataType, columnType: ColumnType): Either[Option[String], Unit] =
    PostgresType.fits(dataType, columnType.asInstanceOf[PostgresType])
  override def sorts(dataType: DataType, columnType: ColumnType): Boolean =
    PostgresType.sorts(dataType, columnType.asInstanceOf[PostgresType])
  override def rowFormat(table: BoundTable): RowFormat =
    CopyFormat(table.columns, table.operation.map(_.ordinal), table.nulCharacter)

  /** One round trip. Settings hold until the transaction ends, so that a pooler may hand the connection on (K13). Under a
    * stricter isolation than READ COMMITTED a transaction would not see what it waited for; a stronger `synchronous_commit`
    * stays.
    */
  override def begin(connection: Connection, lockTimeout: Duration): Option[String] =
    begin(connection, lockTimeout, PostgresSessions.guards)
  override def begin(connection: Connection, lockTimeout: Duration, writer: Writer): Option[String] =
    begin(connection, lockTimeout, s"${PostgresSessions.guards}, ${PostgresSessions.mark(writer)}")

  private def begin(connection: Connection, lockTimeout: Duration, more: String): Option[String] = {
    connection.setAutoCommit(false)
    Using.resource(connection.createStatement()) { statement =>
      statement.execute(sql"""SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
           |${SearchPath.Pin};
           |SELECT pg_current_xact_id()::text,
           |  set_config('row_security', 'off', true),
           |  set_config('synchronous_commit',
           |    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
           |  set_config('lock_timeout', '${lockTimeout.toMillis}ms', true),
           |  set_config('idle_in_transaction_session_timeout',
           |    '${math.max(lockTimeout.toMillis, ShortestIdle)}ms', true),
           |  $more"""): Unit
      statement.getMoreResults(): Unit
      statement.getMoreResults(): Unit
      Using.resource(statement.getResultSet)(rows => Option.when(rows.next())(rows.getString(1)))
    }
  }

  /** Deferred triggers run now. */
  override def commit(connection: Connection): Unit = {
    SearchPath.restore(connection)
    connection.commit()
  }

  override def inspecting[A](connection: Connection)(body: => A): A = SearchPath.pinned(connection)(body)
  override def writing[A](connection: Connection)(body: => A): A = SearchPath.ofSession(connection)(body)
  override def checkTrusted(connection: Connection, table: QualifiedName, trust: Trust, named: Boolean): Unit =
    TrustedTables.check(connection, table, trust, named)

  override def session(connection: Connection): Option[Long] = Some(PostgresSessions.current(connection))
  override def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker] =
    PostgresSessions.blockers(connection, waiting)
  override def end(connection: Connection, blocker: Blocker): Unit = PostgresSessions.end(connection, blocker)

  override def outcome(connection: Connection, transaction: String): Option[TransactionOutcome] =
    Sql
      .query(connection, "SELECT pg_xact_status(?::text::xid8)", transaction)(rows => Option(rows.getString(1)))
      .flatten
      .headOption
      .collect {
        case "committed"   => TransactionOutcome.Committed
        case "aborted"     => TransactionOutcome.Aborted
        case "in progress" => TransactionOutcome.InProgress
      }

  /** By SQLSTATE: connection, serialization and deadlock, resources, shutdown and start, lock timeout. */
  override def verdict(error: SQLException): Verdict = {
    val state = Option(error.getSQLState).getOrElse("")
    val transient = state.startsWith("08") || state.startsWith("53") || Transient(state)
    if (transient && !Wrong(state)) Verdict.Retry else Verdict.GiveUp
  }

  override def opensLater(error: SQLException): Boolean =
    Option(error.getSQLState).exists(state => state == "57P03" || state.startsWith("53"))

  override def known(error: SQLException): Option[DatabaseFailure] =
    Option.when(error.getSQLState == "53300")(
      DatabaseFailure.TooManyConnections("max_connections, or the CONNECTION LIMIT of the role or database"))

  override def losesConnection(error: SQLException): Boolean = {
    val state = Option(error.getSQLState).getOrElse("")
    state.startsWith("08") || state.startsWith("57P0") || state == IdleInTransaction
  }

  /** The timeline is that of the log's end: the control file's changes only with the checkpoint that follows a promotion. */
  override def server(connection: Connection): ServerIdentity =
    Seq(TimelineOfLog, TimelineOfControlFile).iterator
      .flatMap(identity(connection, _))
      .nextOption()
      .getOrElse(ServerIdentity("unknown", None))

  /** A role may be kept from these functions, and a server may lack one; an error inside the transaction would end it. */
  private def identity(connection: Connection, timeline: String): Option[ServerIdentity] = {
    val savepoint = connection.setSavepoint()
    val found = Try(
      Sql
        .query(connection, s"SELECT system_identifier, ($timeline) FROM pg_control_system()")(rows =>
          ServerIdentity(rows.getString(1), Some(rows.getLong(2))))
        .head)
    if (found.isFailure) connection.rollback(savepoint) else connection.releaseSavepoint(savepoint)
    found.toOption
  }

  override def bulk: Seq[BulkLoad] = Seq(PostgresStaging, PostgresPrepared)

  override def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    PostgresLoad(connection, table, rows)

  override object ledger extends LedgerDialect {
    override val text = "text"
    override val bigint = "bigint"
    override val timestamp = "timestamp with time zone"
    override val now = "pg_catalog.clock_timestamp()"
    override val forUpdate = " FOR UPDATE"
    override def same(left: String, right: String): String = s"$left IS NOT DISTINCT FROM $right"

    override def table(name: QualifiedName): String = quote(name)

    override def serializeClaims(connection: Connection): Boolean = {
      Sql.run(connection, s"SELECT pg_advisory_xact_lock($ClaimsLock)")
      true
    }

    /** By the catalog's rows: `to_regclass` may remember that there was none before the transaction waited for a lock. */
    override def exists(connection: Connection, table: QualifiedName): Boolean =
      Sql
        .query(
          connection,
          """SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            |WHERE n.nspname = ? AND c.relname = ?""".stripMargin,
          table.schema,
          table.table)(_.getInt(1))
        .nonEmpty
  }

  /** Means the same whatever `standard_conforming_strings` says. */
  private def literal(text: String): String = s"E'${text.replace("\\", "\\\\").replace("'", "''")}'"

  private val TimelineOfLog = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"
  private val TimelineOfControlFile = "SELECT timeline_id::bigint FROM pg_control_checkpoint()"

  /** Any number will do, as long as it is always the same: "epochal" as bytes. */
  private val ClaimsLock = 0x65706f6368616cL
  private val ShortestIdle = 30000L
  private val IdleInTransaction = "25P03"
  private val Transient = Set("40001", "40P01", "55P03", "57P01", "57P02", "57P03", IdleInTransaction)

  /** Of the classes above, what will not pass: a protocol violation, and "no configuration for this host". */
  private val Wrong = Set("08P01", "08004")
}

/** It has no state: one serves all. */
object PostgresDialect extends PostgresDialect
