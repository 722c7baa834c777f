package io.epochal.jdbc.mysql

import java.sql.{Connection, SQLException}

import io.epochal.jdbc.database.{BoundColumn, BoundTable, Loaded, WriteMode}
import io.epochal.jdbc.insert.{InsertBatches, TemporaryMerge}
import io.epochal.jdbc.sql.Sql
import io.epochal.jdbc.sql.SqlText._
import io.epochal.kit.sink.row.EncodedRows

/** Loads encoded rows into a table by multi-row INSERTs. */
private[mysql] object MysqlLoad {

  private val MaxParameters = 65535

  // Larger statements are no faster.
  private val MaxBytes = 1L << 20

  // In a statement's text a value takes up to four times its encoded bytes: numbers as digits, escaped bytes.
  private val TextPerByte = 4
  private val inserts = new InsertBatches(MysqlRules, MysqlDialect.quote, MaxParameters)

  /** The server cuts the connection while the statement arrives, which drivers report as a lost connection. */
  private def tooLarge(error: SQLException, bytes: Long, packet: Long): SQLException =
    if (!MysqlErrors.losesConnection(error)) error
    else
      new SQLException(
        s"$bytes bytes of a row in one statement, and max_allowed_packet is $packet (${error.getMessage})",
        "08S01",
        MysqlErrors.PacketTooLarge,
        error)

  private def insert(
      connection: Connection,
      into: String,
      table: BoundTable,
      rows: EncodedRows,
      batchSize: Int): Long = {
    val packet = Sql.query(connection, "SELECT @@max_allowed_packet")(_.getLong(1)).head
    inserts.multiRow(
      connection,
      into,
      table,
      rows,
      batchSize,
      maxBytes = math.min(MaxBytes, packet / TextPerByte),
      alone = (error, bytes) => if (bytes < packet) error else tooLarge(error, bytes, packet)
    )
  }

  def apply(connection: Connection, table: BoundTable, rows: EncodedRows, batchSize: Int): Loaded =
    table.mode match {
      case WriteMode.Append =>
        Loaded.Rows(insert(connection, target(table), table, rows, batchSize), rows.rows)
      case upsert: WriteMode.Upsert =>
        val incoming = temporary(table, "epochal_incoming")
        new MysqlMerge(incoming, temporary(table, "epochal_winners"))(connection, table, upsert, rows.rows)(
          insert(connection, incoming, table, rows, batchSize))
    }

  private def target(table: BoundTable): String = MysqlDialect.quote(table.table.name)
  private def temporary(table: BoundTable, name: String): String =
    MysqlDialect.quote(table.table.name.copy(table = name))

  /** Updates and marks existing rows in one statement, then inserts the rows without a mark.
    *
    * ON DUPLICATE KEY UPDATE would update a row that collides in ''any'' unique index; here such a collision is an error. Its row count
    * also depends on a driver setting; here the server counts all rows: marked and inserted ones.
    */
  final private class MysqlMerge(incoming: String, ordered: String)
      extends TemporaryMerge(MysqlDialect.quote, incoming) {

    override protected def sorted(column: BoundColumn): String = {
      val name = MysqlDialect.quote(column.column.name)
      column.column.columnType match {
        case kind: MysqlType if kind.isText => s"CAST(CONVERT($name USING utf8mb4) AS BINARY)"
        case _                              => name
      }
    }

    // A temporary table does not commit the transaction, and a statement cannot refer to it twice.
    override protected def create(connection: Connection, table: BoundTable): Unit = {
      discard(connection)
      Sql.run(
        connection,
        text"""CREATE TEMPORARY TABLE $incoming (${found(table)} INT NOT NULL DEFAULT 0) ENGINE=InnoDB
           |SELECT ${list(table.columnNames)} FROM ${target(table)} WHERE false"""
      )
    }

    override protected def merge(
        connection: Connection,
        table: BoundTable,
        upsert: WriteMode.Upsert,
        rows: Long,
        distinct: Long
    ): Loaded = {
      val unique = distinct == rows
      val source = if (unique) incoming else ordered
      if (!unique)
        Sql.run(
          connection,
          s"CREATE TEMPORARY TABLE $source (${found(table)} INT NOT NULL DEFAULT 0) ENGINE=InnoDB SELECT w.* FROM ${winners(table, upsert)} w")
      val names = list(table.columnNames)
      val on = upsert.keys.map(MysqlDialect.quote).map(k => s"t.$k = s.$k").mkString(" AND ")
      val sets = upsert.updated.map(MysqlDialect.quote).map(c => s"t.$c = s.$c")
      Sql.run(
        connection,
        s"UPDATE $source s STRAIGHT_JOIN ${target(table)} t ON $on SET ${(sets :+ s"s.${found(table)} = 1").mkString(", ")}")
      val changed = one(connection, s"SELECT count(*) FROM $source WHERE ${found(table)} = 1")
      val added = Sql.update(
        connection,
        text"""INSERT INTO ${target(table)} ($names)
           |SELECT $names FROM $source WHERE ${found(table)} = 0 ORDER BY ${list(upsert.keys)}"""
      )
      Loaded.Rows(changed + added, distinct)
    }

    private def found(table: BoundTable): String = MysqlDialect.quote(table.table.unused("epochal_found"))

    override protected def drop(connection: Connection): Unit = discard(connection)

    /** Also after a rolled-back transaction: temporary tables stay with the session. */
    private def discard(connection: Connection): Unit =
      Sql.run(connection, s"DROP TEMPORARY TABLE IF EXISTS $incoming, $ordered")
  }
}
