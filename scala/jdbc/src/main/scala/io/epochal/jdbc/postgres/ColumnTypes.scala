package io.epochal.jdbc.postgres

import java.sql.{Connection, ResultSet}

import io.epochal.jdbc.sql.Sql

/** The types of a table's columns, down through domains and arrays to what is under them. */
private[postgres] object ColumnTypes {

  /** @param required
    *   a domain on the way takes no NULL
    */
  final case class ColumnType(kind: PostgresType, required: Boolean)

  /** By the column's number. */
  def of(connection: Connection, table: Long): Map[Int, ColumnType] =
    Sql
      .query(connection, Levels, table)(rows => rows.getInt("attnum") -> level(rows))
      .groupMap(_._1)(_._2)
      .map { case (column, levels) => column -> resolved(levels.toList) }

  /** One type on the way from the column's own (the first) to one that is neither domain nor array (the last). */
  final private case class Level(oid: Long, kind: String, isRequired: Boolean, found: PostgresType)

  private def level(rows: ResultSet): Level = {
    val kind = rows.getString("kind")
    val labels = rows.getArray("labels").getArray.asInstanceOf[Array[AnyRef]].map(_.toString).toVector
    val shape = if (kind == "enum") PostgresType.Enum(labels) else PostgresType.Plain
    val found = PostgresType(rows.getString("name"), rows.getInt("modifier"), rows.getString("declared"), shape)
    Level(rows.getLong("oid"), kind, rows.getBoolean("typnotnull"), found)
  }

  private def resolved(levels: List[Level]): ColumnType = levels match {
    case domain :: under if domain.kind == "domain" && under.nonEmpty =>
      val base = resolved(under)
      ColumnType(base.kind.copy(declared = domain.found.declared), domain.isRequired || base.required)
    case array :: (under @ element :: _) if array.kind == "array" =>
      val of = resolved(under)
      ColumnType(array.found.copy(shape = PostgresType.Array(of.kind, element.oid, of.required)), required = false)
    case last :: _ => ColumnType(last.found, last.isRequired)
    case Nil       => throw new IllegalStateException("a column without a type")
  }

  /** A modifier belongs to the innermost domain that has one; in an array, to its elements. A type is spelled with its schema
    * unless that is on the session's path.
    */
  private val Levels =
    s"""WITH RECURSIVE levels AS (
       |  SELECT a.attnum, 0 AS depth, a.atttypid AS oid, a.atttypmod AS modifier FROM pg_catalog.pg_attribute a
       |  WHERE a.attrelid = ?::bigint::oid AND a.attnum > 0 AND NOT a.attisdropped
       |  UNION ALL
       |  SELECT l.attnum, l.depth + 1, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE e.oid END,
       |    CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE l.modifier END
       |  FROM levels l JOIN pg_catalog.pg_type t ON t.oid = l.oid
       |  LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
       |  WHERE t.typtype = 'd' OR e.oid IS NOT NULL)
       |SELECT l.attnum, t.oid::bigint AS oid, l.modifier, t.typnotnull,
       |  substr(f.spelled, CASE WHEN n.nspname = ANY (${SearchPath.Schemas}) AND starts_with(f.spelled, quote_ident(n.nspname) || '.')
       |    THEN length(quote_ident(n.nspname)) + 2 ELSE 1 END) AS declared,
       |  CASE WHEN t.typtype = 'd' THEN 'domain' WHEN t.typtype = 'e' THEN 'enum' WHEN e.oid IS NOT NULL THEN 'array' ELSE 'plain' END AS kind,
       |  CASE WHEN n.nspname = 'pg_catalog' OR t.typname = 'citext' AND t.typtype = 'b' THEN t.typname::text
       |    ELSE n.nspname || '.' || t.typname END AS name,
       |  ARRAY(SELECT v.enumlabel::text FROM pg_catalog.pg_enum v WHERE v.enumtypid = t.oid ORDER BY v.enumsortorder) AS labels
       |FROM levels l JOIN pg_catalog.pg_type t ON t.oid = l.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
       |CROSS JOIN LATERAL (SELECT pg_catalog.format_type(t.oid, l.modifier) AS spelled) AS f
       |LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
       |ORDER BY l.attnum, l.depth""".stripMargin
}
