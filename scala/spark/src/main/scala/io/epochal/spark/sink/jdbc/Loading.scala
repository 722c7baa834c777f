package io.epochal.spark.sink.jdbc

import java.sql.Connection

import io.epochal.core.error.Conditions

/** Brings what tasks put out into the table, and checks that all of it is there (K13). */
final private[jdbc] class Loading(database: Database, run: BulkRun, truncate: Boolean) {

  private val bound = run.table

  def load(connection: Connection, shipment: Shipment, epoch: String): Unit = {
    if (truncate) database.dialect.clear(connection, bound.table.name)
    if (shipment.digest.rows > 0)
      bring(connection, shipment, epoch) match {
        case Loaded.Rows(stored, expected) if stored == expected => ()
        case Loaded.Rows(stored, expected) =>
          throw Conditions.RowsDropped(
            "stored" -> stored,
            "sent" -> expected,
            "epoch" -> epoch,
            "table" -> bound.table.name)
        case Loaded.DuplicateKeys(rows) =>
          throw Conditions.DuplicateKeys(
            "epoch" -> epoch,
            "rows" -> rows,
            "columns" -> database.options.keyColumns.mkString(", "))
      }
  }

  private def bring(connection: Connection, shipment: Shipment, epoch: String): Loaded =
    database.bulk.filter(_ => shipment.elsewhere.nonEmpty) match {
      case Some(bulk) => bulk.load(connection, run, shipment, epoch)
      case None       => database.dialect.load(connection, bound, shipment.rows, database.options.batchSize)
    }
}
