package io.epochal.cdc.value

import java.sql.Connection

import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** Columns and types in the server's catalog, as it is now. */
object CatalogColumns {

  /** The columns of tables by their number, which is their order in pgoutput and in COPY. Without those that the publication does
    * not publish: generated ones, and those that its list of columns lacks.
    *
    * @param tables
    *   their `pg_class.oid`
    * @param publication
    *   None, or one that does not exist: all columns but generated ones
    */
  def of(connection: Connection, tables: Seq[Long], publication: Option[String]): Map[Long, Seq[PostgresColumn]] = {
    val columns = PostgresColumn.read(
      connection,
      sql"""SELECT ARRAY[x.number::int, a.attnum::int] AS path, a.attname AS field, a.atttypid AS oid, a.atttypmod AS modifier
         |  FROM unnest(${tables.mkString("{", ",", "}")}::oid[]) WITH ORDINALITY AS x(oid, number)
         |  JOIN pg_catalog.pg_attribute a ON a.attrelid = x.oid AND a.attnum > 0 AND NOT a.attisdropped
         |  LEFT JOIN pg_catalog.pg_publication p ON p.pubname = $publication
         |  LEFT JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = x.oid
         |  CROSS JOIN LATERAL (SELECT NULLIF(pg_catalog.to_jsonb(r)->'prattrs', 'null') AS columns) AS listed
         |  WHERE CASE WHEN listed.columns IS NOT NULL THEN listed.columns @> pg_catalog.to_jsonb(a.attnum)
         |    ELSE a.attgenerated = '' OR a.attgenerated = pg_catalog.to_jsonb(p)->>'pubgencols' END"""
    )
    tables.zipWithIndex.map { case (table, i) => table -> columns.getOrElse(i + 1, Nil) }.toMap
  }

  /** Types by their OIDs, as far as the catalog has them. */
  def types(connection: Connection, oids: Seq[Int]): Map[Int, PostgresType] = {
    val list = oids.map(Integer.toUnsignedString).mkString("{", ",", "}")
    PostgresColumn
      .read(
        connection,
        sql"""SELECT ARRAY[0, x.number::int] AS path, ''::name AS field, x.oid, -1 AS modifier
         |  FROM unnest($list::oid[]) WITH ORDINALITY AS x(oid, number)"""
      )
      .values
      .flatten
      .map(column => column.kind.oid.toInt -> column.kind)
      .toMap
  }
}
