package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet}

import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.Trust
import io.epochal.jdbc.option.{JdbcOptions, QualifiedName}
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

/** Whether a table that the sink finds by a name of its own (the ledger, staging, prepared transactions, bad rows) is one
  * that nobody could have planted to run code with our rights (K19).
  *
  * Trusted are those who have such rights already, and whoever can act as one of them: the role that writes; the owner of the
  * target, whose triggers we run; the owner of its schema, who can put another table in the target's place; superusers; and
  * the roles that users name. That a role is a member of the same group as ours, or that ours is a member of it, does not
  * count: others can act as a group.
  */
private[postgres] object TrustedTables {

  /** @param named
    *   the user has named its schema, so that the owner of that is trusted, too
    */
  def check(connection: Connection, table: QualifiedName, trust: Trust, named: Boolean): Unit = {
    val target = trust.target
    val schema = if (named) table.schema else target.schema
    Sql
      .query(
        connection,
        Faults,
        table.schema,
        table.table,
        target.schema,
        schema,
        target.schema,
        target.table,
        array(trust.owners))(fault)
      .headOption
      .foreach(throw _)
  }

  private def fault(rows: ResultSet): EpochalException = {
    val role = rows.getString("role")
    val table = rows.getString("member")
    val kind = Kinds.get(rows.getString("kind"))
    val owner = Option(rows.getString("owner"))
    val (problem, remedy) =
      if (kind.isDefined)
        (s"is ${kind.get}, where an ordinary table should be", "Find out who made it, and drop it")
      else
        owner match {
          case Some(stranger) =>
            (
              s"belongs to the role '$stranger', who could run code there with the rights of '$role'",
              s"If you trust '$stranger', set ${JdbcOptions.TrustedOwners.name}=$stranger, or ALTER TABLE $table OWNER TO ${PostgresDialect
                  .quote(role)}. If not, find out why it was made, and DROP TABLE $table"
            )
          case None =>
            val trigger = rows.getString("trigger")
            (
              s"has the trigger $trigger, which runs code of a role that the sink does not trust",
              s"DROP TRIGGER $trigger ON $table, and REVOKE TRIGGER ON $table from that role")
        }
    Conditions.ObjectUntrusted("object" -> table, "role" -> role, "problem" -> problem, "remedy" -> remedy)
  }

  private val Kinds = Map(
    "v" -> "a view",
    "m" -> "a materialized view",
    "f" -> "a foreign table",
    "S" -> "a sequence",
    "i" -> "an index",
    "I" -> "an index",
    "c" -> "a type")

  private def array(names: Seq[String]): String =
    names.map(name => "\"" + name.replace("\\", "\\\\").replace("\"", "\\\"") + "\"").mkString("{", ",", "}")

  /** SQL: whoever has this role has rights of those who vouch, or can take them. */
  private def trusted(role: String): String =
    s"""EXISTS (SELECT FROM vouched v WHERE pg_has_role($role, v.oid, CASE
       |WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'USAGE, SET, MEMBER WITH ADMIN OPTION' END))""".stripMargin

  /** What is wrong with the table, its partitions and its children. A trigger counts with everything that it depends on: its
    * function, and what stands in its WHEN; the server notes no dependency on what is its own.
    */
  private val Faults =
    s"""WITH RECURSIVE tables(oid) AS (
       |  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relname = ?
       |  UNION SELECT i.inhrelid FROM pg_inherits i JOIN tables t ON i.inhparent = t.oid),
       |vouched(oid) AS (
       |  SELECT oid FROM pg_roles WHERE rolname = current_user
       |  UNION SELECT nspowner FROM pg_namespace WHERE nspname IN (?, ?)
       |  UNION SELECT c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       |    WHERE n.nspname = ? AND c.relname = ? AND c.relkind IN ('r', 'p')
       |  UNION SELECT oid FROM pg_roles WHERE rolname = ANY (?::name[])),
       |code(tgrelid, tgname, owner) AS (
       |  SELECT g.tgrelid, g.tgname, COALESCE(p.proowner, o.oprowner, y.typowner) FROM pg_trigger g
       |  JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid
       |  LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
       |  LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
       |  LEFT JOIN pg_type y ON d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid
       |  WHERE g.tgrelid IN (SELECT oid FROM tables) AND NOT g.tgisinternal),
       |faults AS (
       |  SELECT c.relkind AS kind, format('%I.%I', n.nspname, c.relname) AS member,
       |    CASE WHEN NOT ${trusted("c.relowner")} THEN pg_get_userbyid(c.relowner) END AS owner,
       |    (SELECT quote_ident(k.tgname) FROM code k WHERE k.tgrelid = c.oid AND k.owner IS NOT NULL
       |      AND NOT ${trusted("k.owner")} LIMIT 1) AS trigger
       |  FROM tables t JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace)
       |SELECT current_user AS role, member, kind, owner, trigger FROM faults
       |WHERE kind NOT IN ('r', 'p') OR owner IS NOT NULL OR trigger IS NOT NULL""".stripMargin
}
