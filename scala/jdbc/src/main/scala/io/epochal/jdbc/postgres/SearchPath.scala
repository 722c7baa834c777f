package io.epochal.jdbc.postgres

import java.sql.Connection

import scala.util.control.NonFatal

import io.epochal.jdbc.sql.Sql

/** What the names in a statement mean (K19). Whoever may create in a schema on the search path could plant a table, a
  * function or an operator there that a statement of ours would find before the one that is meant, and would run it with our
  * rights.
  *
  * {{{
  *   begin: pinned ── the ledger, staging, the catalogs ──► write to the target: the session's path ──► pinned ── … ──► COMMIT: the session's path
  * }}}
  *
  *   - Pinned, a transaction's path is `pg_catalog, pg_temp`, where nobody can plant anything.
  *   - The target's own triggers, defaults and rules may count on the path that the role, the database or the connection has.
  *     So that path is back for the statements that can start them: those that write to the target or to the table of bad
  *     rows, and the end of the transaction, where deferred triggers run. Every name and operator in these statements has its
  *     schema.
  *
  * Both hold until the transaction ends, so that a pooler may hand the connection on.
  */
private[postgres] object SearchPath {

  /** The path of a transaction, and that of its session and the schemas on it that this role may use, which it remembers. Its
    * names are read by the session's path.
    */
  val Pin: String =
    """SELECT pg_catalog.set_config('epochal.search_path', pg_catalog.current_setting('search_path'), true),
      |  pg_catalog.set_config('epochal.schemas', pg_catalog.current_schemas(false)::pg_catalog.text, true),
      |  pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)""".stripMargin

  /** SQL for the schemas on the session's path, in its order; outside such a transaction the setting is empty or missing. */
  val Schemas: String =
    "COALESCE(NULLIF(current_setting('epochal.schemas', true), '')::name[], current_schemas(false))"

  private val Pinned = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)"
  private val OfSession =
    "SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('epochal.search_path'), true)"

  /** Runs `body` under the session's path. An error of the server's leaves it so: what follows is a rollback, to the
    * beginning or to a savepoint from before, which brings the path back too.
    */
  def ofSession[A](connection: Connection)(body: => A): A = {
    restore(connection)
    val result = body
    pin(connection)
    result
  }

  /** Back to the session's path. */
  def restore(connection: Connection): Unit = Sql.run(connection, OfSession)

  /** Back to the pinned path. */
  def pin(connection: Connection): Unit = Sql.run(connection, Pinned)

  /** Runs `body`, which changes no table, on a connection without a transaction: in one of its own, pinned. */
  def pinned[A](connection: Connection)(body: => A): A = {
    connection.setAutoCommit(false)
    try {
      Sql.run(connection, Pin)
      body
    } finally
      try {
        connection.rollback()
        connection.setAutoCommit(true)
      } catch { case NonFatal(_) => () } // A lost connection; the error of `body` says so.
  }

  /** SQL that says of each column of a key that it is equal in `t` and `w`: by the operator of the unique index, with its
    * schema. One outside of `pg_catalog` (citext's) gets values of its own types, or another in its schema could fit better.
    */
  def equal(connection: Connection, table: String, keys: Seq[String]): String = {
    val found = Sql
      .query(connection, Operators, table)(rows => rows.getString(1) -> (rows.getString(2), rows.getString(3)))
      .toMap
    keys
      .map { key =>
        val column = PostgresDialect.quote(key)
        val (operator, cast) = found.getOrElse(key, ("OPERATOR(pg_catalog.=)", ""))
        s"t.$column$cast $operator w.$column$cast"
      }
      .mkString(" AND ")
  }

  /** For columns of unique indexes: the operator, and the cast that its arguments need. */
  private val Operators =
    """SELECT a.attname, format('OPERATOR(%I.%s)', n.nspname, o.oprname),
      |  CASE WHEN n.nspname = 'pg_catalog' THEN '' ELSE format('::%I.%I', tn.nspname, t.typname) END
      |FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) AS k(attnum, class_id)
      |JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
      |JOIN pg_opclass c ON c.oid = k.class_id
      |JOIN pg_amop m ON m.amopfamily = c.opcfamily AND m.amoplefttype = c.opcintype
      |  AND m.amoprighttype = c.opcintype AND m.amopstrategy = 3
      |JOIN pg_operator o ON o.oid = m.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
      |JOIN pg_type t ON t.oid = c.opcintype JOIN pg_namespace tn ON tn.oid = t.typnamespace
      |WHERE i.indrelid = to_regclass(?) AND i.indisunique
      |ORDER BY c.opcdefault""".stripMargin
}
