package io.epochal.jdbc.generic

import java.sql.{Connection, SQLException, SQLFeatureNotSupportedException, SQLSyntaxErrorException}

import io.epochal.jdbc.database.{BoundTable, Dialect, Loaded, WriteMode}
import io.epochal.jdbc.insert.InsertBatches
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.sink.row.EncodedRows

/** Puts encoded rows into a table: by INSERTs of many rows, whose count the database tells; where it does not know these, by
  * the driver's batches.
  */
private[generic] object GenericLoad {

  // What every database takes.
  private val MaxParameters = 999

  def apply(
      dialect: Dialect,
      connection: Connection,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int
  ): Loaded = table.mode match {
    case WriteMode.Append => Loaded.Rows(insert(dialect, connection, table, rows, batchSize), rows.rows)
    case _ =>
      throw JdbcOptions.unsupported("replace rows", "the dialect of this database has no statement for it", "Append.")
  }

  private def insert(
      dialect: Dialect,
      connection: Connection,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int
  ): Long = {
    val target = dialect.quote(table.table.name)
    val inserts = new InsertBatches(GenericRules, dialect.quote, MaxParameters)
    var stored = false
    try inserts.multiRow(connection, target, table, rows, batchSize, () => stored = true)
    catch {
      case error: SQLException if !stored && unknown(error) =>
        inserts.batches(connection, target, table, rows, batchSize)
    }
  }

  /** Comes with the first statement. Later it has another reason (a statement too long), and rows are stored already. */
  private def unknown(error: SQLException): Boolean =
    error.isInstanceOf[SQLSyntaxErrorException] || error.isInstanceOf[SQLFeatureNotSupportedException] ||
      Option(error.getSQLState).exists(state => state.startsWith("42") || state.startsWith("0A"))
}
