package io.epochal.cdc.value

import java.sql.{Connection, ResultSet}

import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** A column of a table.
  *
  * @param oid
  *   of its type or domain, as in pgoutput's Relation message
  * @param modifier
  *   likewise
  */
final case class PostgresColumn(name: String, oid: Long, modifier: Int, kind: PostgresType)

object PostgresColumn {

  /** The columns of tables by their number, which is their order in pgoutput and in COPY. One query, as the catalog is now. Without
    * those that the publication does not publish: generated ones, and those that its list of columns lacks.
    *
    * @param tables
    *   their `pg_class.oid`
    * @param publication
    *   None, or one that does not exist: all columns but generated ones
    */
  def of(connection: Connection, tables: Seq[Long], publication: Option[String]): Map[Long, Seq[PostgresColumn]] = {
    val levelsByTable = levels(
      connection,
      sql"""SELECT ARRAY[x.number::int, a.attnum::int] AS path, a.attname AS field, a.atttypid AS oid, a.atttypmod AS modifier
         |  FROM unnest(${tables.mkString("{", ",", "}")}::oid[]) WITH ORDINALITY AS x(oid, number)
         |  JOIN pg_catalog.pg_attribute a ON a.attrelid = x.oid AND a.attnum > 0 AND NOT a.attisdropped
         |  LEFT JOIN pg_catalog.pg_publication p ON p.pubname = $publication
         |  LEFT JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = x.oid
         |  CROSS JOIN LATERAL (SELECT NULLIF(pg_catalog.to_jsonb(r)->'prattrs', 'null') AS columns) AS listed
         |  WHERE CASE WHEN listed.columns IS NOT NULL THEN listed.columns @> pg_catalog.to_jsonb(a.attnum)
         |    ELSE a.attgenerated = '' OR a.attgenerated = pg_catalog.to_jsonb(p)->>'pubgencols' END"""
    ).groupBy(_.path.head)
    tables.zipWithIndex.map { case (table, i) =>
      table -> of(levelsByTable.getOrElse(i + 1, Nil).map(level => level.copy(path = level.path.tail)))
    }.toMap
  }

  /** Types by their OIDs, as far as the catalog has them. */
  def types(connection: Connection, oids: Seq[Int]): Map[Int, PostgresType] = {
    val list = oids.map(Integer.toUnsignedString).mkString("{", ",", "}")
    of(
      levels(
        connection,
        sql"""SELECT ARRAY[x.number::int] AS path, ''::name AS field, x.oid, -1 AS modifier
         |  FROM unnest($list::oid[]) WITH ORDINALITY AS x(oid, number)"""
      )).map(column => column.oid.toInt -> column.kind).toMap
  }

  private def levels(connection: Connection, first: Sql): Seq[TypeLevel] =
    sql"WITH RECURSIVE levels AS (\n  $first\n$Levels".query(connection)(level)

  /** @param levels
    *   in any order
    */
  private[value] def of(levels: Seq[TypeLevel]): Seq[PostgresColumn] = {
    val under = levels.groupBy(_.path.init).withDefaultValue(Nil)

    def typeOf(level: TypeLevel): PostgresType = {
      val parts = under(level.path).sortBy(_.path.last).map(part => part.field -> typeOf(part))
      def withShape(shape: PostgresType.Shape): PostgresType =
        PostgresType(level.name, level.modifier, level.declared, level.isSent && parts.forall(_._2.isSent), shape)
      level.kind match {
        case 'd' =>
          val base = parts.head._2
          base.copy(declared = level.declared, base = Some(base.cast))
        case 'a'       => withShape(PostgresType.Elements(parts.head._2, level.delimiter))
        case 'c'       => withShape(PostgresType.Fields(parts))
        case 'e'       => withShape(PostgresType.Enum)
        case 'r' | 'm' => withShape(PostgresType.Range)
        case _         => withShape(PostgresType.Plain)
      }
    }
    under(Nil).sortBy(_.path.last).map(top => PostgresColumn(top.field, top.oid, top.modifier, typeOf(top)))
  }

  private def level(rows: ResultSet): TypeLevel = TypeLevel(
    rows.getArray("path").getArray.asInstanceOf[Array[Integer]].map(_.intValue).toSeq,
    rows.getString("field"),
    rows.getLong("oid"),
    rows.getInt("modifier"),
    rows.getString("declared"),
    rows.getString("name"),
    rows.getString("kind").head,
    rows.getString("delimiter").head,
    rows.getBoolean("sent")
  )

  /** A modifier belongs to the innermost domain that has one, and in an array to its elements. */
  private val Levels = Sql.raw(
    """  UNION ALL
      |  SELECT l.path || part.number::int, part.field, part.oid, part.modifier
      |  FROM levels l JOIN pg_catalog.pg_type t ON t.oid = l.oid CROSS JOIN LATERAL (
      |    SELECT 0 AS number, ''::name AS field, t.typbasetype AS oid, t.typtypmod AS modifier WHERE t.typtype = 'd'
      |    UNION ALL
      |    SELECT 0, '', e.oid, l.modifier FROM pg_catalog.pg_type e WHERE e.oid = t.typelem AND e.typarray = t.oid
      |    UNION ALL
      |    SELECT f.attnum, f.attname, f.atttypid, f.atttypmod FROM pg_catalog.pg_attribute f
      |    WHERE t.typtype = 'c' AND f.attrelid = t.typrelid AND f.attnum > 0 AND NOT f.attisdropped) AS part)
      |SELECT l.path, l.field, l.oid::bigint AS oid, l.modifier, t.typsend::oid <> 0 AS sent,
      |  pg_catalog.format_type(l.oid, l.modifier) AS declared, COALESCE(e.typdelim, ',') AS delimiter,
      |  CASE WHEN n.nspname = 'pg_catalog' OR t.typname = 'citext' AND t.typtype = 'b' THEN t.typname::text
      |    ELSE n.nspname || '.' || t.typname END AS name,
      |  CASE WHEN e.oid IS NOT NULL THEN 'a' ELSE t.typtype END AS kind
      |FROM levels l JOIN pg_catalog.pg_type t ON t.oid = l.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
      |LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND e.typarray = t.oid""".stripMargin)
}

/** One type on the way from a column's own type to the types that it consists of.
  *
  * @param path
  *   the column's number, then for each level 0, or the number of the attribute in a composite type
  * @param field
  *   name of the column or attribute
  * @param kind
  *   `pg_type.typtype`; `a` for an array
  */
final private[value] case class TypeLevel(
    path: Seq[Int],
    field: String,
    oid: Long,
    modifier: Int,
    declared: String,
    name: String,
    kind: Char,
    delimiter: Char,
    isSent: Boolean)
