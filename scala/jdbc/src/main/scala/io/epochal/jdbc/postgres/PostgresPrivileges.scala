package io.epochal.jdbc.postgres

import java.sql.Connection

import io.epochal.jdbc.database.{BoundTable, KeptTable, WriteMode, WriteNeeds}
import io.epochal.jdbc.option.TransportChoice
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{QualifiedName, Sql}

/** The privileges that a write lacks, by one query of the catalog: a column for each GRANT, NULL where it is not needed. */
private[postgres] object PostgresPrivileges {

  def missing(connection: Connection, needs: WriteNeeds): Seq[String] = {
    val grants =
      onSchemas(needs) ++ needs.bound.toSeq.flatMap(onTarget(needs, _)) ++ (keptTables(needs) ++ needs.deadLetterTable)
        .map(on(needs, _))
    sql"SELECT ${Sql.join(grants)}"
      .query(connection)(row => grants.indices.flatMap(i => Option(row.getString(i + 1))))
      .flatten
  }

  /** SQL: the statement, unless the condition holds. The names are quoted where they must be.
    *
    * @param statement
    *   a format of `format()`, whose last value is the role
    */
  private def unless(holds: Sql, statement: String, names: String*): Sql = {
    val values = Sql.join((statement +: names).map(name => sql"$name::text") :+ sql"current_user")
    sql"CASE WHEN $holds THEN NULL ELSE format($values) END"
  }

  private def all(conditions: Seq[Sql]): Sql =
    conditions.reduceLeftOption((left, right) => sql"$left AND $right").getOrElse(sql"true")

  private def oid(table: QualifiedName): Sql =
    sql"""(SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         |WHERE n.nspname = ${table.schema} AND c.relname = ${table.table})"""

  private def inSchema(schema: String, privilege: String): Sql =
    sql"COALESCE((SELECT has_schema_privilege(n.oid, $privilege) FROM pg_namespace n WHERE n.nspname = $schema), true)"

  /** Also true of a missing table: that is created; and if any column has it: which ones matter is left to the server. */
  private def inTable(table: QualifiedName, privilege: String): Sql =
    if (privilege == "DELETE") sql"COALESCE(has_table_privilege(${oid(table)}, $privilege), true)"
    else sql"COALESCE(has_any_column_privilege(${oid(table)}, $privilege), true)"

  /** Privileges on single columns are sufficient. */
  private def inColumns(table: QualifiedName, columns: Seq[String], privilege: String): Sql =
    sql"""COALESCE((SELECT bool_and(has_column_privilege(a.attrelid, a.attnum, $privilege)) FROM pg_attribute a
         |WHERE a.attrelid = ${oid(table)} AND a.attnum > 0 AND a.attname IN ${Sql.list("" +: columns)}), true)"""

  private def onSchemas(needs: WriteNeeds): Seq[Sql] = {
    val tables = keptTables(needs).map(_.name) ++ needs.deadLetters ++ Option.when(needs.bound.isEmpty)(needs.target)
    val creates = tables.groupBy(_.schema).withDefaultValue(Nil)
    (needs.target.schema +: creates.keys.toSeq).distinct.flatMap { schema =>
      val exist = all(creates(schema).map(table => sql"${oid(table)} IS NOT NULL"))
      val mayCreate = inSchema(schema, "CREATE")
      val stages = schema == needs.target.schema && needs.transport == TransportChoice.Staged
      Seq(
        unless(inSchema(schema, "USAGE"), "GRANT USAGE ON SCHEMA %I TO %I", schema),
        unless(if (stages) mayCreate else sql"($mayCreate OR $exist)", "GRANT CREATE ON SCHEMA %I TO %I", schema)
      )
    }
  }

  private def onTarget(needs: WriteNeeds, bound: BoundTable): Seq[Sql] = {
    val name = bound.table.name
    val stages = needs.transport == TransportChoice.Staged
    val parses = PostgresIncoming.parses(bound)
    val (keys, updates, deletes) = bound.mode match {
      case upsert: WriteMode.Upsert => (upsert.keys, upsert.updated, upsert.operation.isDefined)
      case WriteMode.Append         => (Nil, Nil, false)
    }
    val rights =
      Option.when(keys.nonEmpty)("SELECT").toSeq ++ Seq("INSERT") ++ Option.when(updates.nonEmpty)("UPDATE") ++
        Option.when(deletes)("DELETE")
    def has(right: String): Sql = right match {
      case "DELETE" => inTable(name, right)
      // ON CONFLICT also reads the new values of the columns that it updates.
      case "SELECT" => inColumns(name, (keys ++ updates).distinct, right)
      case "UPDATE" => inColumns(name, updates, right)
      case _        => inColumns(name, bound.columnNames, right)
    }
    val isOwner =
      sql"COALESCE((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = ${oid(name)}), true)"
    Seq(
      unless(all(rights.map(has)), s"GRANT ${rights.mkString(", ")} ON %I.%I TO %I", name.schema, name.table),
      sequences(bound),
      // Otherwise the server refuses each statement, or hides rows from it.
      unless(sql"NOT row_security_active(${oid(name)})", "ALTER ROLE %I BYPASSRLS")) ++
      // Rows that replace others, or that the server parses, pass through a temporary table unless they are staged. Those of a
      // change feed always do.
      Option.when((needs.options.upsert || parses) && !stages || bound.operation.exists(_.feed.nonEmpty))(
        sql"""CASE WHEN has_database_privilege(current_database(), 'TEMPORARY') THEN NULL
             |ELSE format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), current_user) END""") ++
      Option.when(bound.alterations.nonEmpty)(unless(isOwner, "ALTER TABLE %I.%I OWNER TO %I", name.schema, name.table))
  }

  /** Sequences from which columns that the query does not write take their defaults; an identity needs no privilege. */
  private def sequences(bound: BoundTable): Sql =
    sql"""(SELECT format('GRANT USAGE ON SEQUENCE %s TO %I', string_agg(DISTINCT s.oid::regclass::text, ', '), current_user)
         |FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
         |JOIN pg_depend e ON e.classid = 'pg_attrdef'::regclass AND e.objid = d.oid AND e.refclassid = 'pg_class'::regclass
         |JOIN pg_class s ON s.oid = e.refobjid
         |WHERE d.adrelid = ${oid(bound.table.name)} AND a.attname NOT IN ${Sql.list("" +: bound.columnNames)}
         |AND CASE WHEN s.relkind = 'S' THEN NOT has_sequence_privilege(s.oid, 'USAGE, UPDATE') END HAVING count(*) > 0)"""

  private def keptTables(needs: WriteNeeds): Seq[KeptTable] = {
    def own(table: String, privileges: Seq[String], grants: Seq[String]): KeptTable =
      KeptTable(needs.target.copy(table = table), privileges, grants)
    val staging = Seq("SELECT", "INSERT", "UPDATE", "DELETE")
    // Small epochs go by message; a start still looks for leftovers.
    val cleaning = if (needs.keepsLedger) Seq("SELECT", "UPDATE") else Nil
    val onPrepared = Seq("SELECT", "INSERT", "DELETE")
    needs.keptTables ++ (needs.transport match {
      case TransportChoice.Staged   => Seq(own(PostgresStaging.Registry, staging, staging))
      case TransportChoice.Auto     => Seq(own(PostgresStaging.Registry, cleaning, staging))
      case TransportChoice.Prepared => Seq(own(PostgresPrepared.Registry, onPrepared, onPrepared))
      case TransportChoice.Inline   => Nil
    })
  }

  private def on(needs: WriteNeeds, table: KeptTable): Sql =
    unless(
      all(needs.on(table).map(inTable(table.name, _))),
      s"GRANT ${table.grants.mkString(", ")} ON %I.%I TO %I",
      table.name.schema,
      table.name.table)
}
