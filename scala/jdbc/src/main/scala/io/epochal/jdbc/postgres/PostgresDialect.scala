package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet, SQLException}
import java.time.Duration
import java.util.Properties
import java.util.concurrent.ConcurrentHashMap

import scala.util.Try

import org.postgresql.jdbc.SslMode
import org.postgresql.util.PSQLException
import org.postgresql.{Driver, PGProperty}
import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.core.ledger.ServerIdentity
import io.epochal.core.retry.Verdict
import io.epochal.jdbc.database._
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{ConnectionSettings, PostgresType, QualifiedName, Sql}
import io.epochal.kit.sink.row.{EncodedRows, RowFormat}

/** PostgreSQL 13 and newer. */
class PostgresDialect extends Dialect with BuiltInDialect {

  override val name = "PostgreSQL"
  override def handles(url: String): Boolean = url.startsWith("jdbc:postgresql:")

  /** Each task of an executor may hold one connection; more do not load faster, and servers have few. */
  override val abilities: Abilities =
    Abilities(
      deletes = true,
      flushes = true,
      addsColumns = true,
      altersColumns = true,
      maxConnections = 16,
      longestName = 63)
  override def catalog: Catalog = PostgresCatalog
  override def types: TypeRules = PostgresTypeRules
  override def errors: DriverErrors = PostgresErrors
  override val sessions: Option[Sessions] = Some(PostgresSessions)

  override def alter(column: TargetColumn, columnType: Option[String], nullable: Boolean): Option[String] = {
    val clause = s"ALTER COLUMN ${quote(column.name)}"
    val isRequired = column.columnType.asInstanceOf[PostgresType].isRequired
    val parts = columnType.map(kind => s"$clause TYPE $kind") ++ Option.when(nullable)(s"$clause DROP NOT NULL")
    Option.unless(columnType.nonEmpty && !column.isPlain || nullable && isRequired)(parts.mkString(", "))
  }

  override def check(options: JdbcOptions): Either[EpochalException, Unit] = {
    PostgresTls.warn(options.connection)
    Right(())
  }

  /** Disables server-side prepared statements: behind a transaction pooler the next session lacks them. */
  override def properties(settings: ConnectionSettings, lockTimeout: Duration): Map[String, String] =
    Map(
      "ApplicationName" -> "epochal-jdbc",
      "tcpKeepAlive" -> "true",
      "connectTimeout" -> "10",
      "prepareThreshold" -> "0")
      .filterNot { case (key, _) => settings.url.contains(s"$key=") }

  override def rowFormat(table: BoundTable): RowFormat = CopyFormat(table)

  /** One round trip. Settings hold until the transaction ends, so that a pooler may reassign the connection. Under an
    * isolation level stricter than READ COMMITTED a transaction would not see the changes it waited for; a stronger
    * `synchronous_commit` is kept.
    */
  override def begin(connection: Connection, lockTimeout: Duration, writer: Option[Writer]): Option[String] =
    begin(connection, lockTimeout, writer, Nil)((_, row) => row.getString(1)).last.headOption

  override def begin[A](
      connection: Connection,
      lockTimeout: Duration,
      writer: Option[Writer],
      first: Sql,
      load: Option[PreparedLoad])(read: ResultSet => A): (Option[String], Seq[A]) = {
    val results = begin(connection, lockTimeout, writer, first +: load.toSeq.flatMap(_.preparation)) { (statement, row) =>
      if (statement == 3) Right(read(row)) else Left(row.getString(1))
    }
    (results(2).headOption.flatMap(_.left.toOption), results(3).flatMap(_.toOption))
  }

  /** Runs three statements, and more. The third returns the transaction's id. */
  private def begin[A](connection: Connection, lockTimeout: Duration, writer: Option[Writer], more: Seq[Sql])(
      read: (Int, ResultSet) => A): Seq[Seq[A]] = {
    connection.setAutoCommit(false)
    Sql.queryAll(
      connection,
      Seq(
        Sql.raw("SET TRANSACTION ISOLATION LEVEL READ COMMITTED"),
        Sql.raw(SearchPath.Pin),
        Sql.raw(settings(lockTimeout, writer))) ++ more)(read)
  }

  private def settings(lockTimeout: Duration, writer: Option[Writer]): String = {
    val more = (PostgresSessions.guards +: writer.map(PostgresSessions.mark).toSeq).mkString(", ")
    text"""SELECT pg_current_xact_id()::text,
           |  set_config('synchronous_commit',
           |    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
           |  set_config('lock_timeout', '${lockTimeout.toMillis}ms', true),
           |  set_config('idle_in_transaction_session_timeout',
           |    '${math.max(lockTimeout.toMillis, ShortestIdle)}ms', true),
           |  $more"""
  }

  override def preparedLoad(table: BoundTable): Option[PreparedLoad] = PostgresLoad.prepared(table)

  /** Deferred triggers run in this statement. */
  override def commit(connection: Connection): Unit = commit(connection, Nil)

  override def commit(connection: Connection, last: Seq[Sql]): Unit = Sql.queryAll(
    connection,
    (if (last.isEmpty) Nil else SearchPath.Pinned +: last) :+ SearchPath.OfSession :+ Sql.raw("COMMIT"))((_, _) =>
    ()): Unit

  override def inspecting[A](connection: Connection)(body: => A): A = SearchPath.pinned(connection)(body)
  override def writing[A](connection: Connection)(body: => A): A = SearchPath.ofSession(connection)(body)
  override def checkTrusted(connection: Connection, table: QualifiedName, trust: Trust, named: Boolean): Unit =
    TrustedTables.check(connection, table, trust, named)

  override def obstacle(connection: Connection, bound: BoundTable, options: JdbcOptions): Option[EpochalException] =
    TableObstacles.first(connection, bound, options)

  override def obstacle(connection: Connection, tables: Seq[BoundTable]): Option[EpochalException] =
    TableObstacles.between(connection, tables)

  override def missingPrivileges(connection: Connection, needs: WriteNeeds): Seq[String] =
    PostgresPrivileges.missing(connection, needs)

  override def isCommitted(connection: Connection, transaction: String): Option[Boolean] =
    sql"SELECT pg_xact_status($transaction::text::xid8)"
      .query(connection)(rows => Option(rows.getString(1)))
      .flatten
      .headOption
      .collect {
        case "committed"   => true
        case "aborted"     => false
        case "in progress" => throw new SQLException("the lost transaction is still in progress", "55P03")
      }

  /** Takes the timeline from the log's end: the control file's changes only at the checkpoint after a promotion. */
  override def server(connection: Connection): ServerIdentity =
    Seq(TimelineOfLog, TimelineOfControlFile).iterator
      .flatMap(identity(connection, _))
      .nextOption()
      .getOrElse(ServerIdentity("unknown", None))

  /** The role may lack the privilege, or the server the function. */
  private def identity(connection: Connection, timeline: String): Option[ServerIdentity] =
    guarded(connection)(
      Sql
        .query(connection, s"SELECT system_identifier, ($timeline) FROM pg_control_system()")(rows =>
          ServerIdentity(rows.getString(1), Some(rows.getLong(2))))
        .head).toOption

  /** Runs `body`, whose failure does not abort the transaction. */
  private[postgres] def guarded[A](connection: Connection)(body: => A): Try[A] = {
    val savepoint = connection.setSavepoint()
    val result = Try(body)
    if (result.isFailure) connection.rollback(savepoint) else connection.releaseSavepoint(savepoint)
    result
  }

  override def bulk: Seq[BulkLoad] = Seq(PostgresStaging, PostgresPrepared)

  override def load(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    PostgresLoad(connection, table, rows)

  override object ledger extends LedgerDialect("text", "bigint", "timestamp with time zone", " FOR UPDATE") {
    override val now = "pg_catalog.clock_timestamp()"
    override val place = Some("ctid")
    override def same(left: String, right: String): String = s"$left IS NOT DISTINCT FROM $right"

    override def table(name: QualifiedName): String = quote(name)

    override def changeOne(update: Sql, historyRow: Sql): Option[Sql] = Some(
      sql"""WITH changed AS ($update RETURNING *), noted AS (INSERT INTO $historyRow RETURNING 1)
           |SELECT CASE count(*) WHEN 1 THEN 1 ELSE ('${Sql.raw(Unchanged)}' || count(*))::integer END FROM noted""")

    override def isUnchanged(error: SQLException): Boolean =
      Sql.state(error) == "22P02" && String.valueOf(error.getMessage).contains(Unchanged)

    override def serializeClaims(connection: Connection): Boolean = {
      Sql.run(connection, s"SELECT pg_advisory_xact_lock($ClaimsLock)")
      true
    }
  }

  private val TimelineOfLog = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"
  private val TimelineOfControlFile = "SELECT timeline_id::bigint FROM pg_control_checkpoint()"

  /** An arbitrary but fixed number: the bytes of "epochal". */
  private val ClaimsLock = 0x65706f6368616cL
  private val ShortestIdle = 30000L

  /** In the error that stops a COMMIT whose ledger row has changed. */
  private val Unchanged = "epochal_ledger rows: "
}

/** The shared instance: the dialect is stateless. */
object PostgresDialect extends PostgresDialect

private object PostgresErrors extends DriverErrors {

  /** Transient SQLSTATEs: connection, serialization and deadlock, resources, shutdown and startup, lock timeout. */
  override def verdict(error: SQLException): Verdict = {
    val transient =
      Sql.state(error).startsWith("08") || Sql.state(error).startsWith("53") || Transient(Sql.state(error))
    if (transient && !Wrong(Sql.state(error))) Verdict.Retry else Verdict.GiveUp
  }

  /** The server's error, not that of a lost transaction. */
  override def isLocked(error: SQLException): Boolean =
    error.isInstanceOf[PSQLException] && Sql.state(error) == "55P03"

  override def opensLater(error: SQLException): Boolean =
    Sql.state(error) == "57P03" || Sql.state(error).startsWith("53")

  override def tooManyConnections(error: SQLException): Option[String] =
    Option.when(error.getSQLState == "53300")("max_connections, or the CONNECTION LIMIT of the role or database")

  /** The driver rejects a connection itself if the server asks for a password and there is none, but also if it lacks TLS. Its
    * messages are translated.
    */
  override def refusesLogin(error: SQLException): Boolean =
    super.refusesLogin(error) ||
      Sql.state(error) == "08004" && !Seq("SSL", "GSS").exists(String.valueOf(error.getMessage).contains)

  override def losesConnection(error: SQLException): Boolean =
    Sql.state(error).startsWith("08") || Sql.state(error).startsWith("57P0") || Sql.state(error) == IdleInTransaction

  private val IdleInTransaction = "25P03"
  private val Transient = Set("40001", "40P01", "55P03", "57P01", "57P02", "57P03", IdleInTransaction)

  /** Permanent errors within the classes above: protocol violation, and "no configuration for this host". */
  private val Wrong = Set("08P01", "08004")
}

/** Warns of connections to another host that do not verify the server: rows and login data can then be read and changed in
  * transit. The driver's default does not verify.
  */
private[postgres] object PostgresTls {

  private val log = LoggerFactory.getLogger("io.epochal.jdbc.postgres.PostgresTls")
  private val warnings = ConcurrentHashMap.newKeySet[String]()
  private val MaxPlaces = 1000

  /** Warns once for each place. */
  def warn(settings: ConnectionSettings): Unit =
    unverified(settings)
      .filter(_ => warnings.size < MaxPlaces && warnings.add(settings.place))
      .foreach(mode =>
        log.warn(
          "epochal-jdbc: {} is on another host, and with {} its identity is not verified. Set the driver's properties sslmode=verify-full and sslrootcert=<file of its authority>.",
          settings.place: Any,
          mode))

  /** The `sslmode`, if it accepts a server on another host without verifying it. */
  private[postgres] def unverified(settings: ConnectionSettings): Option[String] = Try {
    val defaults = new Properties
    settings.properties.foreach { case (name, value) => defaults.setProperty(name, value) }
    val properties = Driver.parseURL(settings.url, defaults)
    val mode = SslMode.of(properties)
    val blind = Option(PGProperty.SSL_FACTORY.getOrNull(properties)).exists(_.endsWith("NonValidatingFactory"))
    val kerberos = Option(PGProperty.GSS_ENC_MODE.getOrNull(properties)).exists(_.equalsIgnoreCase("require"))
    val isRemote = PGProperty.PG_HOST.getOrDefault(properties).split(',').exists(host => !isHere(host.trim))
    Option.when(isRemote && !kerberos && (blind || !mode.verifyCertificate))(
      if (blind) "an sslfactory that checks nothing" else s"sslmode=${mode.value}")
  }.toOption.flatten

  /** Compares literal names, without a lookup: another host's name may resolve to this one for now. */
  private def isHere(host: String): Boolean =
    host.isEmpty || host.equalsIgnoreCase("localhost") || host.matches("""127(\.\d{1,3}){3}|\[?::1\]?""") ||
      host.startsWith("/")
}
