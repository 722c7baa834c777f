package io.epochal.cdc

import java.sql.Connection

import io.epochal.cdc.slot.{CaptureServer, TableFacts, TableSelection}
import io.epochal.cdc.value.CatalogColumns
import io.epochal.core.error.Conditions
import io.epochal.core.option.NameList

/** The captured tables, as they were when the query was planned.
  *
  * @param schemas
  *   that are captured whole, with the tables that they get later
  * @param chosen
  *   the columns of a schema that the user has declared, by the tables' OIDs; None: all
  * @param rows
  *   the rows that the query delivers
  */
final private[cdc] case class CdcTables(
    all: Seq[CdcTable],
    schemas: Seq[String],
    rows: RowShape,
    chosen: Option[Map[Long, Set[String]]] = None) {

  /** Whether it may be more than one table. */
  def isSeveral: Boolean = rows.isSeveral

  /** Whether rows are JSON, which names its columns. */
  def isGeneric: Boolean = rows == RowShape.Json

  /** Whether the query may read a column. */
  def isChosen(table: Long, column: String): Boolean = chosen.forall(_.get(table).exists(_(column)))

  /** For messages. */
  def names: String = NameList.shown(all.map(_.facts.name))

  def only: CdcTable = all.head

  def byOid(oid: Long): Option[CdcTable] = all.find(_.facts.oid == oid)

  /** Whether changes of a table of this name are delivered. Of a whole schema, the tables of a sink are left out. */
  def takes(schema: String, table: String): Boolean =
    schemas.contains(schema) && !TableSelection.OfSinks.r.unanchored.matches(table) || all.exists(one =>
      one.facts.schema == schema && one.facts.table == table)
}

private[cdc] object CdcTables {

  /** @throws io.epochal.core.error.EpochalException
    *   TABLE_MISSING, with the nearest name
    */
  def find(options: CdcOptions): CdcTables = {
    val server = options.server
    val publication = options.publication.orElse(options.slot)
    def tablesOf(connection: Connection)(selection: (Seq[TableFacts], Seq[String])) = {
      val columns = CatalogColumns.of(connection, selection._1.map(_.oid), publication)
      CdcTables(selection._1.map(table => CdcTable(table, columns(table.oid))), selection._2, options.rows)
    }
    server.sql(connection => options.tables.find(connection).map(tablesOf(connection))) match {
      case Right(tables) => tables
      case Left(missing) =>
        val near = server.sql(CaptureServer.nearest(_, missing)).fold("")(name => s" (there is '$name')")
        throw Conditions.TableMissing.withHint(s"Create it, or correct '{option:dbtable}'$near.")(
          "table" -> missing,
          "url" -> server.place,
          "nearest" -> near)
    }
  }
}
