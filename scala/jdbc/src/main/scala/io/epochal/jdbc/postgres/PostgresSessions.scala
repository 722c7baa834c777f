package io.epochal.jdbc.postgres

import java.sql.Connection

import io.epochal.jdbc.database.{Blocker, Sessions, Writer}
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Lets the server detect lost clients, and a successor find its predecessor's session.
  *
  * A transaction's `application_name` ends in `[<sink>/<generation>]` until the transaction ends. This is reliable through a pooler
  * too: a session that shows it is in a transaction of that run now, regardless of who used the session before.
  */
private[postgres] object PostgresSessions extends Sessions {

  private val Mark = ".*\\[([0-9a-f]{16})/(\\d+)\\]".r

  // application_name has 63 bytes; the mark takes up to 38.
  private val NameLength = 24

  /** SQL of settings, valid until the transaction ends, by which the server ends sessions of dead clients or hosts. During a long
    * statement it checks every few seconds whether the client is connected, on versions that can.
    */
  val guards: String =
    text"""CASE WHEN current_setting('client_connection_check_interval', true) = '0' AND version() LIKE '%linux%'
       |  THEN set_config('client_connection_check_interval', '5s', true) END,
       |CASE WHEN current_setting('tcp_keepalives_idle', true)::int NOT BETWEEN 1 AND 30 THEN set_config('tcp_keepalives_idle', '30', true) END,
       |CASE WHEN current_setting('tcp_keepalives_interval', true)::int NOT BETWEEN 1 AND 10 THEN set_config('tcp_keepalives_interval', '10', true) END,
       |CASE WHEN current_setting('tcp_keepalives_count', true)::int NOT BETWEEN 1 AND 3 THEN set_config('tcp_keepalives_count', '3', true) END"""

  /** SQL of the setting that marks the transaction with its run. */
  def mark(writer: Writer): String =
    text"""set_config('application_name',
       |  left(current_setting('application_name'), $NameLength) || ' [${writer.sink}/${writer.generation}]', true)"""

  override def current(connection: Connection): Long =
    Sql.query(connection, "SELECT pg_backend_pid()")(_.getLong(1)).head

  /** Includes indirect blockers. A session that waits for a standby has committed: it is neither dead nor frozen. */
  override def blockers(connection: Connection, waiting: Long, successor: Writer): Seq[Blocker] =
    sql"""WITH RECURSIVE waits(pid) AS (
         |  SELECT unnest(pg_blocking_pids($waiting::int)) UNION SELECT unnest(pg_blocking_pids(pid)) FROM waits WHERE pid <> 0)
         |SELECT w.pid, a.usename, a.application_name, a.xact_start::text AS since,
         |  extract(epoch FROM clock_timestamp() - a.xact_start)::bigint AS age,
         |  a.state, upper(substring(ltrim(a.query) FROM '^[A-Za-z]+')) AS kind,
         |  a.usename = session_user AND a.datname = current_database() AND a.wait_event IS DISTINCT FROM 'SyncRep' AS mine
         |FROM waits AS w LEFT JOIN pg_stat_activity AS a ON a.pid = w.pid""".query(connection) { rows =>
      val pid = rows.getLong("pid")
      val name = Option(rows.getString("application_name")).getOrElse("")
      if (pid == 0) Blocker(None, "a prepared transaction (see pg_prepared_xacts)", "", None)
      else
        Blocker(
          Some(pid),
          s"process $pid of role ${rows.getString("usename")} ('$name'), in its transaction for " +
            s"${rows.getLong("age")} s, ${activity(rows.getString("state"), rows.getString("kind"))}",
          String.valueOf(rows.getString("since")),
          Option(name).filter(_ => rows.getBoolean("mine")).collect { case Mark(sink, generation) =>
            Writer(sink, generation.toLong)
          }
        )
    }

  /** `pg_stat_activity` shows the lower half of the id, and only of the transaction in progress. */
  override def session(connection: Connection, id: Option[String]): Option[String] =
    id.map(number => (number.toLong & 0xffffffffL).toString)

  /** Where the server does not track activities, every open transaction counts. */
  override def busy(connection: Connection, keys: Seq[String], milliseconds: Long): Set[String] =
    sql"""SELECT backend_xid::text FROM pg_catalog.pg_stat_activity WHERE backend_xid::text IN ${Sql.list(keys)}
         |AND CASE state WHEN 'active' THEN wait_event_type IS DISTINCT FROM 'Client' WHEN 'disabled' THEN true
         |  ELSE state_change > pg_catalog.clock_timestamp() - pg_catalog.make_interval(secs => $milliseconds / 1000.0) END"""
      .query(connection)(_.getString(1))
      .toSet

  override def endSession(connection: Connection, key: String): Unit =
    sql"""SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity
         |WHERE backend_xid::text = $key AND usename = session_user""".query(connection)(_.getBoolean(1)): Unit

  private def activity(state: String, kind: String): String = (Option(state), Option(kind)) match {
    case (Some("active"), Some(statement)) => s"now in $statement"
    case (Some(other), Some(statement))    => s"$other after $statement"
    case (Some(other), None)               => other
    case (None, _)                         => "its statement may not be seen by this role"
  }

  /** Ends the open transactions of older generations of the writer's sink. */
  def endOlder(connection: Connection, writer: Writer): Unit =
    Sql
      .raw(text"""SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         |WHERE usename = session_user AND datname = current_database() AND wait_event IS DISTINCT FROM 'SyncRep'
         |AND application_name ~ '\\[${writer.sink}/[0-9]+\\]$$'
         |AND substring(application_name FROM '/([0-9]+)\\]$$')::bigint < ${writer.generation}""")
      .query(connection)(_.getBoolean(1)): Unit

  override def end(connection: Connection, blocker: Blocker): Unit =
    blocker.process.foreach(pid =>
      sql"""SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         |WHERE pid = $pid AND usename = session_user AND xact_start::text = ${blocker.key}"""
        .query(connection)(_.getBoolean(1)))
}
