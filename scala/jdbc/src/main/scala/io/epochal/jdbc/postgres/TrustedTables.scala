package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.Trust
import io.epochal.jdbc.option.{JdbcOptions, QualifiedName}
import io.epochal.jdbc.sql.Sql

/** Whether a table that the sink finds by a name of its own (the ledger, staging, prepared transactions, bad rows) is one
  * that nobody could have planted to run code with our rights (K19).
  *
  * Trusted are those who have such rights already, and whoever can act as one of them: the role that writes; the owner of the
  * target, whose triggers we run; the owner of its schema, who can put another table in the target's place; superusers; and
  * the roles that users name. That a role is a member of the same group as ours, or that ours is a member of it, does not
  * count: others can act as a group.
  */
private[postgres] object TrustedTables {

  def exists(connection: Connection, table: QualifiedName, trust: Trust): Boolean =
    PostgresDialect.ledger.exists(connection, table) && {
      check(connection, table, trust, named = false)
      true
    }

  /** @param named
    *   the user has named its schema, so that the owner of that is trusted, too
    */
  def check(connection: Connection, table: QualifiedName, trust: Trust, named: Boolean): Unit = {
    val target = trust.target
    Sql
      .query(
        connection,
        Faults,
        table.schema,
        table.table,
        target.schema,
        if (named) table.schema else target.schema,
        target.schema,
        target.table,
        array(trust.owners)
      )(fault)
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
