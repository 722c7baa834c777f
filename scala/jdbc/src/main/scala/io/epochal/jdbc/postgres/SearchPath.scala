package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet}

import scala.util.control.NonFatal

import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

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
    val columns = keys.map(PostgresDialect.quote)
    equal(operators, keys, columns.map("t." + _), columns.map("w." + _))
  }

  /** The same for other columns than those of the key. */
  def equal(
      operators: Seq[(String, (String, String))],
      keys: Seq[String],
      left: Seq[String],
      right: Seq[String]): String = {
    val byName = operators.toMap
    keys
      .lazyZip(left)
      .lazyZip(right)
      .map { (key, one, other) =>
        val (operator, cast) = byName.getOrElse(key, ("OPERATOR(pg_catalog.=)", ""))
        s"$one$cast $operator $other$cast"
      }
      .mkString(" AND ")
  }
}
