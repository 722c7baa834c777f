package io.epochal.jdbc.postgres

import java.sql.Connection
import java.util.Locale

import io.epochal.core.ledger.Target
import io.epochal.jdbc.database.{BoundTable, Catalog, TargetColumn, TargetKey, TargetTable}
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{NamePart, PostgresColumn, QualifiedName, Sql, TableName}

/** Tables as listed in PostgreSQL's catalog. */
private[postgres] object PostgresCatalog extends Catalog {

  /** SQL for the partitions and children of a table `c`, at any depth, that are foreign tables. */
  val ForeignMembers: String =
    """WITH RECURSIVE members AS (
      |  SELECT i.inhrelid AS oid FROM pg_inherits i WHERE c.relhassubclass AND i.inhparent = c.oid
      |  UNION SELECT i.inhrelid FROM pg_inherits i JOIN members m ON i.inhparent = m.oid)
      |SELECT p.* FROM members m JOIN pg_class p ON p.oid = m.oid WHERE p.relkind = 'f'""".stripMargin

  /** A name without a schema is resolved by the search path, as in SQL. */
  override def find(connection: Connection, name: TableName): Option[TargetTable] =
    (for {
      schema <- name.schema.fold(Seq(None: Option[String]))(_.spellings.map(Option(_)))
      table <- name.table.spellings
    } yield relation(connection, schema, table)).flatten.headOption.map { case (oid, fullName, encoding) =>
      val targetColumns = columns(connection, oid)
      TargetTable(
        fullName,
        Target(fullName.toString, Some(oid)),
        targetColumns,
        keys(connection, oid, targetColumns),
        DatabaseEncoding.characters(connection, encoding))
    }

  override def tableNames(connection: Connection, name: TableName): Seq[String] =
    sql"""SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         |WHERE c.relkind IN ('r', 'p') AND ${isIn(name.schema.map(_.text))} ORDER BY c.relname LIMIT 1000"""
      .query(connection)(_.getString(1))

  /** SQL condition: the namespace `n` is the schema; None: one on the session's path. */
  private def isIn(schema: Option[String]): Sql =
    sql"(n.nspname = $schema OR $schema::text IS NULL AND n.nspname = ANY ($schemas))"

  private val schemas = Sql.raw(SearchPath.Schemas)

  /** Folded to PostgreSQL's own case, as CREATE TABLE does for an unquoted name. */
  override def newName(connection: Connection, name: TableName): QualifiedName = {
    val schema = name.schema
      .map(fold)
      .getOrElse(
        Sql
          .query(connection, s"SELECT (${SearchPath.Schemas})[1]")(rows => Option(rows.getString(1)))
          .head
          .getOrElse("public"))
    QualifiedName(schema, fold(name.table))
  }

  /** Reads the catalog's rows: `to_regclass` may have cached that the table was missing before the transaction waited for a lock. */
  override def exists(connection: Connection, table: QualifiedName): Boolean =
    sql"""SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
          |WHERE n.nspname = ${table.schema} AND c.relname = ${table.table}""".query(connection)(_.getInt(1)).nonEmpty

  override def identitySql(table: QualifiedName): String =
    s"to_regclass(${literal(PostgresDialect.quote(table))})::oid::bigint"

  override def shapeSql(table: BoundTable): String = {
    val relation = s"to_regclass(${literal(PostgresDialect.quote(table.table.name))})"
    text"""(SELECT COALESCE(string_agg(concat(attname, ' ', atttypid, ' ', atttypmod, ' ', attcollation), ',' ORDER BY attnum), '')
       ||| COALESCE((SELECT ' foreign' FROM pg_class c WHERE c.oid = $relation AND EXISTS ($ForeignMembers)), '')
       ||| COALESCE((SELECT string_agg(concat(' rule ', r.oid), '' ORDER BY r.oid) FROM pg_rewrite r
       |  WHERE r.ev_class = $relation AND r.ev_enabled IN ('O', 'A')), '')
       |FROM pg_attribute WHERE attrelid = $relation AND NOT attisdropped
       |AND attname IN (${table.columnNames.map(literal).mkString(", ")}))"""
  }

  /** A literal that means the same under any `standard_conforming_strings`. */
  def literal(text: String): String = s"E'${text.replace("\\", "\\\\").replace("'", "''")}'"

  private def fold(part: NamePart): String = if (part.quoted) part.text else part.text.toLowerCase(Locale.ROOT)

  /** The table's oid and name, and the encoding of the database. */
  private def relation(
      connection: Connection,
      schema: Option[String],
      table: String): Option[(Long, QualifiedName, String)] =
    sql"""SELECT c.oid::bigint AS oid, n.nspname, c.relname, c.relkind, current_setting('server_encoding') AS encoding,
         |  c.relpersistence <> 'p' OR EXISTS (
         |  SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid = t.relid WHERE p.relpersistence <> 'p') AS fleeting,
         |  (SELECT concat(f.relnamespace::regnamespace, '.', f.relname) FROM (${Sql.raw(ForeignMembers)}) f LIMIT 1)
         |    AS foreign_member
         |FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         |WHERE c.relname = $table AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${isIn(schema)}
         |ORDER BY array_position($schemas, n.nspname) LIMIT 1"""
      .query(connection) { rows =>
        val name = QualifiedName(rows.getString("nspname"), rows.getString("relname"))
        if (!Set("r", "p")(rows.getString("relkind")))
          refuse(
            name,
            "it is a view or a foreign table, whose rows are not under this database's transactions",
            "Name the table itself.")
        if (rows.getBoolean("fleeting"))
          refuse(
            name,
            "it, or a partition of it, is unlogged or temporary: a crash of the server empties it, and Spark never sends the rows again",
            s"ALTER TABLE $name SET LOGGED.")
        Option(rows.getString("foreign_member")).foreach(member =>
          refuse(
            name,
            s"its partition or child $member is a foreign table, which commits on its own server",
            s"Detach $member, or write to a table without foreign members."))
        (rows.getLong("oid"), name, rows.getString("encoding"))
      }
      .headOption

  private def columns(connection: Connection, oid: Long): Seq[TargetColumn] = {
    val kinds = PostgresColumn
      .read(
        connection,
        sql"""SELECT ARRAY[0, a.attnum::int] AS path, a.attname AS field, a.atttypid AS oid, a.atttypmod AS modifier
          |  FROM pg_catalog.pg_attribute a WHERE a.attrelid = $oid::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped""",
        schemas)
      .values
      .flatten
      .map(column => column.name -> column.kind)
      .toMap
    sql"""SELECT a.attname, a.attnotnull,
        |  a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL AS filled,
        |  a.attgenerated <> '' OR a.attidentity = 'a' AS generated, CASE WHEN a.attidentity = 'a'
        |  THEN format('ALTER TABLE %s ALTER COLUMN %I SET GENERATED BY DEFAULT', a.attrelid::regclass, a.attname) END AS remedy,
        |  a.attcollation = t.typcollation AS plain
        |FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        |WHERE a.attrelid = $oid::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
      .query(connection) { rows =>
        val name = rows.getString("attname")
        TargetColumn(
          name,
          kinds(name),
          nullable = !(rows.getBoolean("attnotnull") || kinds(name).isRequired),
          filled = rows.getBoolean("filled"),
          generated = rows.getBoolean("generated"),
          remedy = Option(rows.getString("remedy")),
          isPlain = rows.getBoolean("plain"))
      }
  }

  /** Unique indexes that ON CONFLICT can infer: neither partial nor deferrable, on plain columns. */
  private def keys(connection: Connection, oid: Long, columns: Seq[TargetColumn]): Seq[TargetKey] = {
    val byType = columns.flatMap(c => PostgresTypeRules.loose(c.columnType).map(c.name -> _)).toMap
    val indexColumns = sql"""SELECT i.indexrelid, a.attname, CASE
          |  WHEN NOT c.collisdeterministic THEN concat('collation ', quote_ident(c.collname))
          |  WHEN o.opcnamespace <> 'pg_catalog'::regnamespace THEN concat('operator class ', quote_ident(o.opcname)) END
          |FROM pg_index i
          |CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indcollation::oid[], i.indclass::oid[]) WITH ORDINALITY
          |  AS k(attnum, collation_id, class_id, place)
          |JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
          |LEFT JOIN pg_collation c ON c.oid = k.collation_id LEFT JOIN pg_opclass o ON o.oid = k.class_id
          |WHERE i.indrelid = $oid::bigint::oid AND i.indisunique AND i.indimmediate AND i.indisvalid
          |  AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts"""
      .query(connection)(rows => (rows.getString(1), rows.getString(2), Option(rows.getString(3))))
    TargetKey.ofIndexes(indexColumns.map { case (index, name, loose) =>
      (index, Some(name), byType.get(name).orElse(loose))
    })
  }
}
