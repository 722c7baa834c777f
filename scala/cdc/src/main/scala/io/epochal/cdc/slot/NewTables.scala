package io.epochal.cdc.slot

import java.sql.Connection

import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** Tables that are created after a query has begun, in schemas that are captured whole. */
private[cdc] object NewTables {

  /** The first transaction number that had not ended; None: the publication does not have the schemas' new tables.
    *
    * @param publication
    *   which must exist, and its slot as well: the changes of that transaction and of later ones are sent
    */
  def since(connection: Connection, server: Server, publication: String, schemas: Seq[String]): Option[Long] = {
    val publishedSchemas =
      if (server.major < 15) Sql.raw("SELECT 0")
      else
        sql"""SELECT count(*) FROM pg_publication_namespace s JOIN pg_namespace n ON n.oid = s.pnnspid
             |WHERE s.pnpubid = p.oid AND n.nspname IN ${Sql.list(schemas)}"""
    sql"""SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS since FROM pg_publication p
         |WHERE p.pubname = $publication AND (p.puballtables OR ($publishedSchemas) = ${schemas.size})"""
      .query(connection)(_.getLong("since"))
      .headOption
  }

  /** Whether all rows that a table has ever had are in the log since a transaction: the table and its partitions were created by it
    * or a later one, and never since were they unlogged or rewritten, or moved, renamed or given to another owner. Also true of a
    * table that was dropped.
    *
    * The system column `ctid` has an entry from a table's creation on, and so has its row type, whose entry changes when the table
    * is moved; the file has the OID's number until the table is rewritten.
    */
  def isWhole(connection: Connection, oid: Long, since: Long): Boolean =
    sql"""SELECT COALESCE(bool_and(c.relpersistence = 'p' AND c.relfilenode IN (0, c.oid) AND t.xmin = a.xmin
         |  AND NOT (c.relispartition AND c.oid = $oid)
         |  AND ((a.xmin::text::bigint - $since) & 4294967295) < 2147483648), true) AS whole
         |FROM (SELECT $oid::bigint::oid AS oid UNION SELECT relid FROM pg_partition_tree($oid::bigint::oid::regclass)) i
         |JOIN pg_class c ON c.oid = i.oid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = -1
         |JOIN pg_type t ON t.oid = c.reltype""".query(connection)(_.getBoolean("whole")).head

  /** Whether the role may publish whole schemas. */
  def mayPublish(connection: Connection, server: Server): Boolean =
    server.major >= 15 &&
      sql"SELECT rolsuper FROM pg_roles WHERE rolname = current_user".query(connection)(_.getBoolean(1)).contains(true)
}
