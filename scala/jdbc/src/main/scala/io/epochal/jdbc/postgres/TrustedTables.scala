package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.NameList
import io.epochal.jdbc.database.Trust
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{QualifiedName, Sql}

/** Whether a table that the sink finds by its fixed name (the ledger, staging, prepared transactions, bad rows) cannot have been
  * planted by another role to run code with our rights.
  *
  * Trusted are roles that have such rights already, and roles that can act as one of them: the role that writes; the owner of the
  * target, whose triggers we run; the owner of its schema, who can replace the target; superusers; and the roles that users
  * name. Sharing a group with our role, or being a group that our role belongs to, is not enough: others can act as a
  * group.
  */
private[postgres] object TrustedTables {

  /** @param named
    *   the user named its schema explicitly, so the schema's owner is trusted, too
    */
  def check(connection: Connection, table: QualifiedName, trust: Trust, named: Boolean): Unit = {
    val schema = if (named) table.schema else trust.target.schema
    faults(table, schema, trust).query(connection)(fault).headOption.foreach(throw _)
  }

  private def fault(rows: ResultSet): EpochalException = {
    val role = rows.getString("role")
    val table = rows.getString("member")
    val (problem, remedy) = (Kinds.get(rows.getString("kind")), Option(rows.getString("owner"))) match {
      case (Some(kind), _) =>
        (s"is $kind, where an ordinary table should be", "Find out who made it, and drop it")
      case (None, Some(owner)) =>
        val ours = PostgresDialect.quote(role)
        (
          s"belongs to the role '$owner', who could run code there with the rights of '$role'",
          s"If you trust '$owner', set {option:trustedOwners=${NameList.render(Seq(owner))}}, or ALTER TABLE $table OWNER TO $ours. If not, find out why it was made, and put it aside: ALTER TABLE $table RENAME TO untrusted")
      case (None, None) =>
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

  /** SQL condition: every member of this role has the rights of a trusted role, or can obtain them. */
  private def trustCondition(role: String): Sql =
    Sql.raw(text"""EXISTS (SELECT FROM vouched v WHERE pg_has_role($role, v.oid, CASE
       |WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'USAGE, SET, MEMBER WITH ADMIN OPTION' END))""")

  /** Problems of the table, its partitions and its children. A trigger includes everything that it depends on: its function,
    * and what its WHEN refers to; the server records no dependency on its own built-in objects.
    */
  private def faults(table: QualifiedName, schema: String, trust: Trust): Sql =
    sql"""WITH RECURSIVE tables(oid) AS (
       |  SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ${table.schema} AND c.relname = ${table.table}
       |  UNION SELECT i.inhrelid FROM pg_inherits i JOIN tables t ON i.inhparent = t.oid),
       |vouched(oid) AS (
       |  SELECT oid FROM pg_roles WHERE rolname = current_user OR rolname IN ${Sql.list("" +: trust.owners)}
       |  UNION SELECT nspowner FROM pg_namespace WHERE nspname IN (${trust.target.schema}, $schema)
       |  UNION SELECT c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       |    WHERE n.nspname = ${trust.target.schema} AND c.relname = ${trust.target.table} AND c.relkind IN ('r', 'p')),
       |code(tgrelid, tgname, owner) AS (
       |  SELECT g.tgrelid, g.tgname, COALESCE(p.proowner, o.oprowner, y.typowner) FROM pg_trigger g
       |  JOIN pg_depend d ON d.classid = 'pg_trigger'::regclass AND d.objid = g.oid
       |  LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
       |  LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
       |  LEFT JOIN pg_type y ON d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid
       |  WHERE g.tgrelid IN (SELECT oid FROM tables) AND NOT g.tgisinternal),
       |faults AS (
       |  SELECT c.relkind AS kind, format('%I.%I', n.nspname, c.relname) AS member,
       |    CASE WHEN NOT ${trustCondition("c.relowner")} THEN pg_get_userbyid(c.relowner) END AS owner,
       |    (SELECT quote_ident(k.tgname) FROM code k WHERE k.tgrelid = c.oid AND k.owner IS NOT NULL
       |      AND NOT ${trustCondition("k.owner")} LIMIT 1) AS trigger
       |  FROM tables t JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace)
       |SELECT current_user AS role, member, kind, owner, trigger FROM faults
       |WHERE kind NOT IN ('r', 'p') OR owner IS NOT NULL OR trigger IS NOT NULL"""
}
