package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet}

import scala.util.control.NonFatal

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

/** The schemas that names in a statement refer to. A role that may create objects in a schema on the search path could plant a table,
  * function or operator that our statement would find before the intended one, and so run its code with our
  * rights.
  *
  * {{{
  *   begin: pinned ── the ledger, staging, the catalogs ──► write to the target: the session's path ──► pinned ── … ──► COMMIT: the session's path
  * }}}
  *
  *   - Pinned, a transaction's path is `pg_catalog, pg_temp`, where no other role can plant anything.
  *   - The target's own triggers, defaults and rules may rely on the path of the role, the database or the connection. So that path is
  *     restored for the statements that can start them: writes to the target or the dead-letter table, and the end of the
  *     transaction, where deferred triggers run. In these statements every name and operator is qualified by its
  *     schema.
  *
  * Both settings last until the transaction ends, so that a pooler may reassign the connection.
  */
private[postgres] object SearchPath {

  /** Pins the transaction's path, and remembers the session's path with those of its schemas that this role may use. Names in
    * this statement are still resolved by the session's path. A query that row security would filter fails instead.
    */
  val Pin: String =
    """SELECT pg_catalog.set_config('epochal.search_path', pg_catalog.current_setting('search_path'), true),
      |  pg_catalog.set_config('epochal.schemas', pg_catalog.current_schemas(false)::pg_catalog.text, true),
      |  pg_catalog.set_config('row_security', 'off', true),
      |  pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)""".stripMargin

  /** SQL for the schemas on the session's path, in order; outside a pinned transaction the setting is empty or missing. */
  val Schemas: String =
    "COALESCE(NULLIF(current_setting('epochal.schemas', true), '')::name[], current_schemas(false))"

  val Pinned: Sql = Sql.raw("SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)")
  val OfSession: Sql =
    Sql.raw("SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('epochal.search_path'), true)")

  /** Runs `body` under the session's path. After a server error the path stays: the rollback that follows, to the beginning or to
    * an earlier savepoint, restores it.
    */
  def ofSession[A](connection: Connection)(body: => A): A = {
    restore(connection)
    val result = body
    pin(connection)
    result
  }

  /** Restores the session's path. */
  def restore(connection: Connection): Unit = OfSession.query(connection)(_ => ()): Unit

  /** Restores the pinned path. */
  def pin(connection: Connection): Unit = Pinned.query(connection)(_ => ()): Unit

  /** Runs a statement under the session's path, in one round trip, and returns the number of changed rows. */
  def update(connection: Connection, sql: String): Long =
    Sql.updateAll(connection, Seq(OfSession, Sql.raw(sql), Pinned))(1)

  /** Runs `body`, which writes no table, in a pinned transaction of its own, on a connection without one. */
  def pinned[A](connection: Connection)(body: => A): A = {
    connection.setAutoCommit(false)
    try {
      Sql.run(connection, Pin)
      body
    } finally
      try {
        connection.rollback()
        connection.setAutoCommit(true)
      } catch { case NonFatal(_) => () } // The connection is lost, which the error of `body` reports.
  }

  /** SQL that compares each key column of `t` and `w` for equality, by the qualified operator of the unique index. Arguments of an
    * operator outside `pg_catalog` (citext's) are cast to its own types, since another operator in its schema could match better.
    */
  def equal(connection: Connection, table: String, keys: Seq[String]): String =
    equal(operators(table).query(connection)(operator), keys)

  /** A query for what `equal` needs; `operator` reads its rows. */
  def operators(table: String): Sql =
    // For columns of unique indexes: the operator, and the type to which its arguments must be cast.
    sql"""SELECT a.attname, format('OPERATOR(%I.%s)', n.nspname, o.oprname),
         |  CASE WHEN n.nspname = 'pg_catalog' THEN '' ELSE format('::%I.%I', tn.nspname, t.typname) END
         |FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) AS k(attnum, class_id)
         |JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
         |JOIN pg_opclass c ON c.oid = k.class_id
         |JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype
         |  AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
         |JOIN pg_operator o ON o.oid = m.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
         |JOIN pg_type t ON t.oid = c.opcintype JOIN pg_namespace tn ON tn.oid = t.typnamespace
         |WHERE i.indrelid = to_regclass($table) AND i.indisunique
         |ORDER BY c.opcdefault"""

  def operator(rows: ResultSet): (String, (String, String)) =
    rows.getString(1) -> (rows.getString(2), rows.getString(3))

  def equal(operators: Seq[(String, (String, String))], keys: Seq[String]): String = {
    val found = operators.toMap
    keys
      .map { key =>
        val column = PostgresDialect.quote(key)
        val (operator, cast) = found.getOrElse(key, ("OPERATOR(pg_catalog.=)", ""))
        s"t.$column$cast $operator w.$column$cast"
      }
      .mkString(" AND ")
  }
}
