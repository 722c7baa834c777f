package io.epochal.spark.sink.jdbc.postgres

import java.sql.{Connection, ResultSet}
import java.util.Locale

import io.epochal.core.error.Conditions
import io.epochal.core.ledger.Target
import io.epochal.spark.sink.jdbc.JdbcOptions
import io.epochal.spark.sink.jdbc.connection.Sql
import io.epochal.spark.sink.jdbc.table.{NamePart, QualifiedName, TableName, TargetColumn, TargetTable}

/** Tables as PostgreSQL's catalog knows them. */
private[postgres] object PostgresCatalog {

  /** Without a schema in the name the search path counts, as in SQL. */
  def find(connection: Connection, name: TableName): Option[TargetTable] =
    (for {
      schema <- name.schema.fold(Seq(None: Option[String]))(spellings(_).map(Option(_)))
      table <- spellings(name.table)
    } yield relation(connection, schema, table)).flatten.headOption.map { case (oid, qualified) =>
      TargetTable(qualified, Target(qualified.toString, Some(oid)), columns(connection, oid), keys(connection, oid))
    }

  def tableNames(connection: Connection, name: TableName): Seq[String] =
    Sql.query(
      connection,
      """SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        |WHERE c.relkind IN ('r', 'p') AND (n.nspname = ? OR ?::text IS NULL AND n.nspname = ANY (current_schemas(false)))
        |ORDER BY c.relname LIMIT 1000""".stripMargin,
      name.schema.map(_.text),
      name.schema.map(_.text)
    )(_.getString(1))

  /** A table made now gets the name in PostgreSQL's own case, as it would from CREATE TABLE without quotes. */
  def newName(connection: Connection, name: TableName): QualifiedName = {
    val schema = name.schema
      .map(folded)
      .getOrElse(
        Sql.query(connection, "SELECT current_schema()")(rows => Option(rows.getString(1))).head.getOrElse("public"))
    QualifiedName(schema, folded(name.table))
  }

  private def folded(part: NamePart): String = if (part.quoted) part.text else part.text.toLowerCase(Locale.ROOT)

  private def spellings(part: NamePart): Seq[String] =
    if (part.quoted) Seq(part.text) else Seq(part.text, part.text.toLowerCase(Locale.ROOT)).distinct

  private def relation(connection: Connection, schema: Option[String], table: String): Option[(Long, QualifiedName)] =
    Sql
      .query(
        connection,
        """SELECT c.oid::bigint AS oid, n.nspname, c.relname, c.relkind, c.relpersistence <> 'p' OR EXISTS (
          |  SELECT FROM pg_partition_tree(c.oid) t JOIN pg_class p ON p.oid = t.relid WHERE p.relpersistence <> 'p') AS fleeting
          |FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          |WHERE c.relname = ? AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
          |  AND (n.nspname = ? OR ?::text IS NULL AND n.nspname = ANY (current_schemas(false)))
          |ORDER BY array_position(current_schemas(false), n.nspname) LIMIT 1""".stripMargin,
        table,
        schema,
        schema
      ) { rows =>
        val name = QualifiedName(rows.getString("nspname"), rows.getString("relname"))
        if (!Set("r", "p")(rows.getString("relkind")))
          throw Conditions.ModeUnsupported(
            "format" -> JdbcOptions.Format,
            "mode" -> s"write to $name",
            "reason" -> "it is a view or a foreign table, whose rows are not under this database's transactions",
            "suggestion" -> "Name the table itself.")
        if (rows.getBoolean("fleeting"))
          throw Conditions.ModeUnsupported(
            "format" -> JdbcOptions.Format,
            "mode" -> s"write to $name",
            "reason" -> "it, or a partition of it, is unlogged or temporary: a crash of the server empties it, and Spark never sends the rows again",
            "suggestion" -> s"ALTER TABLE $name SET LOGGED.")
        (rows.getLong("oid"), name)
      }
      .headOption

  private def columns(connection: Connection, oid: Long): Seq[TargetColumn] = {
    val types = ColumnTypes.of(connection, oid)
    Sql.query(
      connection,
      """SELECT a.attname, a.attnum, a.attnotnull,
        |  a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL AS filled,
        |  a.attgenerated <> '' OR a.attidentity = 'a' AS generated
        |FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        |WHERE a.attrelid = ?::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum""".stripMargin,
      oid
    )(rows => column(rows, types(rows.getInt("attnum"))))
  }

  private def column(rows: ResultSet, of: ColumnTypes.ColumnType): TargetColumn = TargetColumn(
    rows.getString("attname"),
    of.kind,
    nullable = !(rows.getBoolean("attnotnull") || of.required),
    filled = rows.getBoolean("filled"),
    generated = rows.getBoolean("generated")
  )

  /** Those that ON CONFLICT can infer: whole, on plain columns, checked at once. */
  private def keys(connection: Connection, oid: Long): Seq[Set[String]] =
    Sql
      .query(
        connection,
        """SELECT i.indexrelid, a.attname FROM pg_index i
          |CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
          |JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
          |WHERE i.indrelid = ?::bigint::oid AND i.indisunique AND i.indimmediate AND i.indisvalid
          |  AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts""".stripMargin,
        oid
      )(rows => rows.getLong(1) -> rows.getString(2))
      .groupMap(_._1)(_._2)
      .values
      .map(_.toSet)
      .toSeq
}
