package io.epochal.cdc.slot

import java.sql.{Connection, SQLException}

import scala.util.{Try, Using}

import org.postgresql.PGConnection
import org.slf4j.LoggerFactory

import io.epochal.cdc.value.ValueReader
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.Nearest
import io.epochal.core.retry.{Retrier, RetrySettings, Verdict}
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{ConnectionSettings, JdbcDriver, LoginDataSource, Sql, TableName}

/** The server whose changes are captured. Its sessions print values in the same way whatever the role's settings are. */
final private[cdc] class CaptureServer(settings: ConnectionSettings, retry: RetrySettings) {
  import CaptureServer._

  def place: String = settings.place

  @volatile private var isDirect = false

  private val retrier = new Retrier(
    retry,
    verdict,
    event => log.warn(s"$place: ${message(event.cause)} Retried in ${event.delay.toMillis} ms."))

  /** Runs `body` on a connection in autocommit mode, and again after transient errors. */
  def sql[A](body: Connection => A): A =
    explainErrors(retrier.run(_ => once(body)))

  /** The same once, with the errors of the driver. An interrupt ends the statement that runs. */
  def once[A](body: Connection => A): A =
    Using.resource(open(Map.empty))(connection => Interruption.watch(connection)(body(connection)))

  /** Like `once`, for statements that the server answers at once: if it does not within half a minute, the connection is lost. */
  def look[A](body: Connection => A): A =
    Using.resource(open(LookTimeouts))(connection => Interruption.watch(connection)(body(connection)))

  /** Like `look`, and again after transient errors. */
  def catalog[A](body: Connection => A): A = explainErrors(retrier.run(_ => look(body)))

  /** The changes of a slot from a position on; waits while another process reads it.
    *
    * @throws EpochalException
    *   SLOT_IN_USE after a minute
    */
  def stream(slot: String, publication: String, from: Long, binary: Boolean, messages: Boolean): SlotStream = {
    val until = System.nanoTime() + Preflight.SlotWait.toNanos
    def attempt(): SlotStream = {
      val connection = open(ForReplication)
      try Interruption.watch(connection)(new SlotStream(connection, slot, publication, from, binary, messages))
      catch {
        case error @ (_: SQLException | _: InterruptedException) =>
          Try(connection.close()): Unit
          error match {
            case busy: SQLException if busy.getSQLState == ObjectInUse => ()
            case other                                                 => throw other
          }
          if (System.nanoTime() >= until) throw inUse(slot)
          Thread.sleep(SlotPause)
          attempt()
      }
    }
    explainErrors(retrier.run(_ => attempt()))
  }

  /** Lets standbys have a slot, as far as the role and the slot's reader allow: while another process reads it, the server waits. */
  def addFailover(slot: String): Unit =
    try
      Using.resource(open(ForReplication)) { connection =>
        Interruption.limit(connection)(Sql.run(connection, s"""ALTER_REPLICATION_SLOT "$slot" (FAILOVER true)"""))
      }
    catch { case error: SQLException => log.warn(s"$place: the slot $slot has no failover: ${message(error)}") }

  /** Whether the same may succeed when it is repeated. */
  def isTransient(error: Throwable): Boolean = verdict(error) == Verdict.Retry

  /** Our error for one of the driver's. */
  def explain(error: SQLException): EpochalException = {
    val safe = settings.redact(error)
    val state = Sql.state(error)
    if (isOfPooler(error))
      Conditions.PoolerRefused.because(safe)("url" -> place, "reason" -> safe.getMessage)
    else if (state.startsWith("08") || state.startsWith("57P"))
      Conditions.DatabaseUnreachable.because(safe)("url" -> place, "reason" -> safe.getMessage)
    else if (state.startsWith("28"))
      Conditions.LoginRefused.because(safe)("url" -> place, "reason" -> safe.getMessage)
    else
      Conditions.DatabaseError
        .because(safe)("url" -> place, "step" -> "capturing changes", "reason" -> safe.getMessage, "state" -> state)
  }

  private def inUse(slot: String): EpochalException = {
    val user = Try(sql(ServerFacts.slot(_, slot))).toOption.flatten.flatMap(_.user)
    Conditions.SlotInUse(
      "slot" -> slot,
      "url" -> place,
      "process" -> user.fold("unknown")(_.process.toString),
      "seconds" -> user.flatMap(_.seconds).fold("unknown")(_.toString))
  }

  private def explainErrors[A](body: => A): A =
    try body
    catch { case error: SQLException => throw explain(error) }

  private def open(properties: Map[String, String]): Connection = {
    val connection = login(properties)
    try {
      if (!isDirect) refusePooler(connection)
      isDirect = true
      Sql.run(connection, Pins)
    } catch {
      case error @ (_: SQLException | _: EpochalException) =>
        Try(connection.close()): Unit
        throw error
    }
    connection
  }

  private def login(properties: Map[String, String]): Connection =
    new LoginDataSource(settings, Some(Driver), Map(LoginTimeout, Oldest, KeepAlive) ++ properties).getConnection

  /** Before a session is changed: behind a pooler it may be used by others.
    *
    * A proxy reports a process number of its own. One that keeps sessions apart and passes replication is none.
    */
  private def refusePooler(connection: Connection): Unit =
    if (connection.unwrap(classOf[PGConnection]).getBackendPID != process(connection)) {
      val pairs = Using.resource(login(Map.empty))(other => Seq.fill(3)(process(connection) -> process(other)))
      if (pairs.distinct.size > 1 || pairs.exists(pair => pair._1 == pair._2))
        throw Conditions.PoolerRefused("url" -> place, "reason" -> "several connections share a session of the server")
      try login(ForReplication).close()
      catch { case error: SQLException if !isOfPooler(error) => () }
    }

  private def process(connection: Connection): Int =
    Sql.query(connection, "SELECT pg_catalog.pg_backend_pid()")(_.getInt(1)).head

  private def message(error: Throwable): String = error match {
    case error: SQLException => settings.redact(error).getMessage
    case other               => other.toString
  }
}

private[cdc] object CaptureServer {
  private val log = LoggerFactory.getLogger(classOf[CaptureServer])

  private val Driver = JdbcDriver("org.postgresql.Driver")

  private val ForReplication =
    Map("replication" -> "database", "preferQueryMode" -> "simple")

  /** In seconds. With it the driver ends a login when its thread is interrupted. */
  private val LoginTimeout = "loginTimeout" -> "60"

  /** The driver sends its settings with the login if it may assume this version. */
  private val Oldest = "assumeMinServerVersion" -> "13"

  private val KeepAlive = "tcpKeepAlive" -> "true"

  /** In seconds. */
  private val LookTimeouts = Map("loginTimeout" -> "30", "socketTimeout" -> "30")

  /** Classes and codes of SQLSTATEs: connection, shutdown and startup, too many connections, a lock that is not available. */
  private val Transient = Seq("08", "57P", "53300", "55P03")

  private val ObjectInUse = "55006"

  /** Milliseconds between two attempts to read a slot that is in use. */
  private val SlotPause = 500L

  private val Pins = (ValueReader.Settings ++ Seq(
    "statement_timeout" -> "0",
    "lock_timeout" -> "0",
    "idle_in_transaction_session_timeout" -> "0",
    "standard_conforming_strings" -> "on",
    // A policy that hides rows is an error.
    "row_security" -> "off",
    "search_path" -> "pg_catalog, pg_temp"))
    .map { case (name, value) => s"SET $name TO ${if (name == "search_path") value else s"'$value'"}" }
    .mkString("; ")

  /** A pooler accepts few settings at the start of a connection, and most of them no replication. */
  private def isOfPooler(error: SQLException): Boolean =
    error.getSQLState == "08P01" && String.valueOf(error.getMessage).contains("unsupported startup parameter")

  private def verdict(error: Throwable): Verdict = error match {
    case error: SQLException if isOfPooler(error)                             => Verdict.GiveUp
    case error: SQLException if Transient.exists(Sql.state(error).startsWith) => Verdict.Retry
    case _                                                                    => Verdict.GiveUp
  }

  /** The table whose name is closest to a misspelt one. */
  def nearest(connection: Connection, name: TableName): Option[String] = Nearest.of(
    name.table.text,
    sql"SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace <> 'pg_catalog'::regnamespace"
      .query(connection)(_.getString(1)))

  /** The schemas in which the role's sessions look for a name without one, in this order. The server's functions are still found in
    * `pg_catalog` only.
    */
  def searchPath(connection: Connection): Seq[String] =
    sql"""SELECT unnest(current_schemas(path IS NULL)) FROM (
         |  SELECT set_config('search_path', reset_val, true) AS path FROM pg_settings WHERE name = 'search_path') AS own"""
      .query(connection)(_.getString(1))
}
