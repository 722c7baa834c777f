package io.epochal.spark.sink.jdbc.commit

import java.sql.Connection

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.spark.sink.jdbc.row.{BadRows, DeadLetter, DeadLetterTable}
import io.epochal.spark.sink.jdbc.table.{AddedColumns, QualifiedName}
import io.epochal.spark.sink.jdbc.transport.{BulkRun, Shipment}
import io.epochal.spark.sink.jdbc.{Database, Loaded}

/** Brings what tasks put out into the table, and checks that all of it is there (K13).
  *
  * @param sinkId
  *   None for a batch write
  */
final private[jdbc] class Loading(database: Database, run: BulkRun, truncate: Boolean, sinkId: Option[String]) {

  private val bound = run.table
  private val options = database.options
  private val dialect = database.dialect

  def load(connection: Connection, shipment: Shipment, epoch: String): Unit = {
    AddedColumns.add(connection, dialect, options.table, bound)
    if (truncate) dialect.clear(connection, bound.table.name)
    if (shipment.stored > 0)
      bring(connection, shipment, epoch) match {
        case Loaded.Rows(stored, expected) => compare(stored, expected, bound.table.name, epoch)
        case Loaded.DuplicateKeys(rows) =>
          throw Conditions.DuplicateKeys(
            "epoch" -> epoch,
            "rows" -> rows,
            "columns" -> options.keyColumns.mkString(", "))
      }
    bound.deadLetters.foreach(table => setAside(connection, table, shipment.deadLetters, epoch))
  }

  private def bring(connection: Connection, shipment: Shipment, epoch: String): Loaded =
    try
      database.bulk.filter(_ => shipment.elsewhere.nonEmpty) match {
        case Some(bulk) => bulk.load(connection, run, shipment, epoch)
        case None       => dialect.load(connection, bound, shipment.rows, options.batchSize)
      }
    finally shipment.release()

  private def setAside(connection: Connection, table: QualifiedName, letters: Seq[DeadLetter], epoch: String): Unit = {
    val limit = options.rows.maxBadRows
    if (letters.size > limit) throw BadRows.tooMany(epoch, BadRows.limitText(limit), letters.head)
    val stored = DeadLetterTable.insert(dialect, connection, table, sinkId, epoch.toLongOption, letters)
    compare(stored, letters.size.toLong, table, epoch)
  }

  /** The table is not the one any more that the rows were encoded for. */
  def targetReplaced: EpochalException = Conditions.TargetChanged(
    "sinkId" -> run.sinkId,
    "known" -> bound.table.target,
    "table" -> "a table of that name which was made anew, or whose columns changed their types")

  private def compare(stored: Long, expected: Long, table: QualifiedName, epoch: String): Unit =
    if (stored != expected)
      throw Conditions.RowsDropped("stored" -> stored, "sent" -> expected, "epoch" -> epoch, "table" -> table)
}
