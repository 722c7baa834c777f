package io.epochal.jdbc.commit

import java.sql.Connection

import io.epochal.core.error.{Conditions, EpochalException, Plural}
import io.epochal.jdbc.database.{BulkRun, Database, Loaded}
import io.epochal.jdbc.option.QualifiedName
import io.epochal.jdbc.table.{AddedColumns, DeadLetterTable}
import io.epochal.kit.sink.row.DeadLetter
import io.epochal.kit.sink.transport.Shipment

/** Brings what tasks put out into the table, and checks that all of it is there (K13).
  *
  * @param whole
  *   the rows are all that the table is to hold
  */
final private[jdbc] class Loading(database: Database, run: BulkRun, whole: Boolean) {

  private val bound = run.table
  private val options = database.options
  private val dialect = database.dialect
  private val sinkId = Option.unless(run.once)(run.sinkId)

  def load(connection: Connection, shipment: Shipment, epoch: String): Unit = {
    AddedColumns.add(connection, dialect, options.table, bound)
    if (whole) clear(connection, epoch)
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

  /** What was there must be gone, as this transaction sees it: DELETE's own count says nothing of rows that a trigger or a
    * rule kept. Rows that others have committed since it ran are deleted as well.
    */
  private def clear(connection: Connection, epoch: String): Unit = {
    val table = bound.table.name
    def isCleared: Boolean = {
      dialect.clear(connection, table)
      dialect.isEmpty(connection, table)
    }
    if (!Iterator.fill(Loading.Clearings)(()).exists(_ => isCleared))
      throw Conditions.RowsDropped(
        "epoch" -> epoch,
        "table" -> table,
        "found" -> "rows are left after all were deleted")
  }

  private def bring(connection: Connection, shipment: Shipment, epoch: String): Loaded =
    database.bulk.filter(_ => shipment.elsewhere.nonEmpty) match {
      case Some(bulk) => bulk.load(connection, run, shipment, epoch)
      case None       => dialect.load(connection, bound, shipment.rows, options.batchSize)
    }

  private def setAside(connection: Connection, table: QualifiedName, letters: Seq[DeadLetter], epoch: String): Unit = {
    val stored = dialect.writing(connection)(
      DeadLetterTable.insert(dialect, connection, table, sinkId, epoch.toLongOption, letters))
    compare(stored, letters.size.toLong, table, epoch)
  }

  private def compare(stored: Long, expected: Long, table: QualifiedName, epoch: String): Unit =
    if (stored != expected) throw Loading.dropped(stored, expected, epoch, table)
}

private[jdbc] object Loading {

  /** How often rows are deleted that others go on adding. */
  private val Clearings = 3

  /** The database stored fewer rows than it was sent, or more. */
  def dropped(stored: Long, sent: Long, epoch: String, table: QualifiedName): EpochalException =
    Conditions.RowsDropped(
      "stored" -> stored,
      "sent" -> sent,
      "epoch" -> epoch,
      "table" -> table,
      "found" -> s"the database stored $stored of the ${Plural.of(sent, "row")}")
}
