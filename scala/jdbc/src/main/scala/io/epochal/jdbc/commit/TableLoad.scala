package io.epochal.jdbc.commit

import java.sql.Connection

import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.Conditions
import io.epochal.jdbc.database.{BulkRun, Database, Loaded}
import io.epochal.kit.database.Sql

/** The part of an epoch that changes one table, in the committing transaction. */
final private[commit] class TableLoad(database: Database, run: BulkRun) {
  private val dialect = database.dialect
  private val bound = run.table

  def alterColumns(connection: Connection): Unit =
    if (bound.alterations.nonEmpty)
      new AlteredColumns(connection, dialect).alter(database.options.table, bound.table.name, bound.alterations)

  /** Loads rows, and checks that all of them are stored. */
  def load(epoch: String)(rows: => Loaded): Loaded = {
    val result = rows
    result.check(epoch, bound.table.name, database.options.keyColumns)
    result.verification.foreach { comparison =>
      val step = if (comparison.isRequested) "compares" else "replaces"
      def text = s"epoch $epoch $step the rows of ${bound.table.name}: $comparison"
      if (!comparison.isRequested || comparison.isEqual) TableLoad.log.info(text) else TableLoad.log.warn(text)
    }
    result
  }

  /** Deletes all rows and checks, within this transaction, that none remain: DELETE's count includes rows that a trigger or rule
    * kept. Rows that others commit in the meantime are deleted as well.
    */
  def clear(connection: Connection, epoch: String): Unit = {
    val table = dialect.quote(bound.table.name)
    def isCleared: Boolean = {
      dialect.writing(connection)(Sql.run(connection, s"DELETE FROM $table"))
      Sql.isEmpty(connection, table)
    }
    if (!Iterator.fill(TableLoad.Clearings)(()).exists(_ => isCleared))
      throw Conditions.RowsDropped(
        "epoch" -> epoch,
        "table" -> bound.table.name,
        "found" -> "rows are left after all were deleted")
  }
}

private object TableLoad {
  val log: Logger = LoggerFactory.getLogger(classOf[TableLoad])

  /** Attempts to empty the table while other transactions add rows. */
  val Clearings = 3
}
