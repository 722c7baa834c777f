package io.epochal.kit.database

import java.sql.{Connection, ResultSet}

import io.epochal.kit.database.SqlText._

/** A column of a PostgreSQL table.
  *
  * @param modifier
  *   its own, as in pgoutput's Relation message: that of a domain is in `kind`
  */
final case class PostgresColumn(name: String, modifier: Int, kind: PostgresType)

object PostgresColumn {

  /** Columns with their types, resolved through domains, arrays and composite types. One query, as the catalog is now.
    *
    * @param columns
    *   a query for `path`, an `int[]` of the table's number and the column's, and the column's `field` (its name), `oid` (of its
    *   type) and `modifier`
    * @param path
    *   SQL of the schemas without which declarations show the names of their types
    * @return
    *   by the table's number, in the order of the columns' numbers
    */
  def read(connection: Connection, columns: Sql, path: Sql = Sql.raw("'{}'::name[]")): Map[Int, Seq[PostgresColumn]] =
    // A modifier belongs to the innermost domain that has one, and in an array to its elements.
    of(sql"""WITH RECURSIVE levels AS (
      |  $columns
      |  UNION ALL
      |  SELECT l.path || part.number::int, part.field, part.oid, part.modifier
      |  FROM levels l JOIN pg_catalog.pg_type t ON t.oid = l.oid CROSS JOIN LATERAL (
      |    SELECT 0 AS number, ''::name AS field, t.typbasetype AS oid, t.typtypmod AS modifier WHERE t.typtype = 'd'
      |    UNION ALL
      |    SELECT 0, '', e.oid, l.modifier FROM pg_catalog.pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid
      |    UNION ALL
      |    SELECT f.attnum, f.attname, f.atttypid, f.atttypmod FROM pg_catalog.pg_attribute f
      |    WHERE t.typtype = 'c' AND f.attrelid = t.typrelid AND f.attnum > 0 AND NOT f.attisdropped) AS part)
      |SELECT l.path, l.field, l.oid::bigint AS oid, l.modifier, t.typsend::oid <> 0 AS sent, t.typnotnull AS required,
      |  COALESCE(e.typdelim, ',') AS delimiter,
      |  substr(f.spelled, CASE WHEN n.nspname = ANY ($path) AND starts_with(f.spelled, quote_ident(n.nspname) || '.')
      |    THEN length(quote_ident(n.nspname)) + 2 ELSE 1 END) AS declaration,
      |  CASE WHEN n.nspname = 'pg_catalog' OR t.typname = 'citext' AND t.typtype = 'b' THEN t.typname::text
      |    ELSE n.nspname || '.' || t.typname END AS name,
      |  CASE WHEN e.oid IS NOT NULL THEN 'a' ELSE t.typtype END AS kind,
      |  ARRAY(SELECT v.enumlabel::text FROM pg_catalog.pg_enum v WHERE v.enumtypid = t.oid ORDER BY v.enumsortorder) AS labels
      |FROM levels l JOIN pg_catalog.pg_type t ON t.oid = l.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
      |CROSS JOIN LATERAL (SELECT pg_catalog.format_type(l.oid, l.modifier) AS spelled) AS f
      |LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid""".query(connection)(level))

  /** @param levels
    *   in any order
    */
  private[database] def of(levels: Seq[TypeLevel]): Map[Int, Seq[PostgresColumn]] = {
    val under = levels.groupBy(_.path.init).withDefaultValue(Nil)

    def typeOf(level: TypeLevel): PostgresType = {
      val parts = under(level.path).sortBy(_.path.last).map(part => part.field -> typeOf(part))
      def base = parts.head._2
      val of = level.of.copy(isSent = level.of.isSent && parts.forall(_._2.isSent))
      level.kind match {
        case 'd' =>
          base.copy(
            declaration = of.declaration,
            oid = of.oid,
            isRequired = of.isRequired || base.isRequired,
            base = Some(base.cast))
        case 'a' => of.copy(shape = PostgresType.Elements(base, level.delimiter))
        case 'c' => of.copy(shape = PostgresType.Fields(parts))
        case _   => of
      }
    }
    levels
      .filter(_.path.size == 2)
      .sortBy(_.path.last)
      .groupMap(_.path.head)(top => PostgresColumn(top.field, top.of.modifier, typeOf(top)))
  }

  private def level(rows: ResultSet): TypeLevel = {
    val kind = rows.getString("kind").head
    TypeLevel(
      rows.getArray("path").getArray.asInstanceOf[Array[Integer]].map(_.intValue).toSeq,
      rows.getString("field"),
      kind,
      rows.getString("delimiter").head,
      PostgresType(
        rows.getString("name"),
        rows.getInt("modifier"),
        rows.getString("declaration"),
        if (kind == 'e') PostgresType.Enum(Sql.strings(rows, "labels")) else PostgresType.Plain,
        rows.getLong("oid"),
        rows.getBoolean("sent"),
        rows.getBoolean("required")
      )
    )
  }
}

/** One type on the way from a column's own type to the types that it consists of.
  *
  * @param path
  *   the numbers of the table and the column, then for each level 0, or the number of the attribute in a composite type
  * @param field
  *   name of the column or attribute
  * @param kind
  *   `pg_type.typtype`; `a` for an array
  * @param of
  *   the type without its parts
  */
final private[database] case class TypeLevel(
    path: Seq[Int],
    field: String,
    kind: Char,
    delimiter: Char,
    of: PostgresType)
