package io.epochal.jdbc.table

import java.sql.Connection

import org.apache.spark.sql.types.StringType

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.{Dialect, Trust}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.SqlText._
import io.epochal.kit.database.{QualifiedName, Sql, TableName}
import io.epochal.kit.sink.row.DeadLetter

/** The table that receives bad rows with their epoch, in the epoch's transaction.
  *
  * Columns: `sink_id` and `epoch` (both NULL for a batch write), `partition_id`, `row_number` (from 1, in the partition),
  * `column_name`, `reason`, `row_json`, `recorded_at`.
  */
final private[jdbc] class DeadLetterTable(dialect: Dialect, name: TableName) {
  import DeadLetterTable._

  private val words = dialect.ledger

  /** Its name as spelled in the database, if it exists. It must have all columns, differ from the target, and be trusted. */
  def find(connection: Connection, trust: Trust): Option[QualifiedName] =
    dialect.catalog.find(connection, name).map { existing =>
      if (existing.name == trust.target) throw isTarget
      val names = existing.columns.map(_.name)
      val missing = Columns.diff(names)
      if (missing.nonEmpty)
        throw Conditions.ColumnMissing(
          "column" -> s"columns ${missing.mkString(", ")}",
          "table" -> existing.name,
          "columns" -> names.mkString(", "),
          "suggestion" -> "Name another table in {option:deadLetterTable}: a missing one is created.")
      dialect.checkTrusted(connection, existing.name, trust, named = name.schema.isDefined)
      existing.name
    }

  /** The table's name, after creating it if it is missing. */
  def prepare(connection: Connection, trust: Trust): QualifiedName =
    find(connection, trust).getOrElse {
      val newName = dialect.catalog.newName(connection, name)
      if (newName == trust.target) throw isTarget
      nameable(dialect, newName.table).fold(throw _, identity)
      import words.{bigint, text, timestamp}
      val long = dialect.types.declare(StringType).getOrElse(text)
      Sql.create(
        connection,
        text"""CREATE TABLE ${dialect.quote(newName)} (sink_id $text, epoch $bigint, partition_id $bigint NOT NULL,
           |${words.column(
            "row_number")} $bigint NOT NULL, column_name $long NOT NULL, reason $long NOT NULL, row_json $long NOT NULL,
           |recorded_at $timestamp NOT NULL)${words.tableOptions}"""
      )(find(connection, trust).isDefined)
      newName
    }

  private def isTarget: EpochalException = JdbcOptions.group.conflict(
    s"{option:dbtable} and {option:deadLetterTable}, which are both $name",
    "Name another table for the rows that cannot be stored.")
}

private[jdbc] object DeadLetterTable {

  val Columns: Seq[String] =
    Seq("sink_id", "epoch", "partition_id", "row_number", "column_name", "reason", "row_json", "recorded_at")

  def nameable(dialect: Dialect, name: String): Either[EpochalException, Unit] =
    TableCheck.nameable(dialect, name, "{option:deadLetterTable=shorter_name}")

  /** @param epoch
    *   None for a batch write
    * @return
    *   the number of rows that the database reports as stored
    */
  def insert(
      dialect: Dialect,
      connection: Connection,
      table: QualifiedName,
      sinkId: Option[String],
      epoch: Option[Long],
      letters: Seq[DeadLetter]): Long = {
    val into = Sql.raw(s"${dialect.quote(table)} (${Columns.map(dialect.ledger.column).mkString(", ")})")
    val now = Sql.raw(dialect.ledger.now)
    val sizes = letters.scanLeft(0L)((size, letter) => size + MaxChars / MaxRows + letter.json.length)
    letters
      .zip(sizes)
      .groupMap(_._2 / MaxChars)(_._1)
      .values
      .map { some =>
        val rows = some.map { letter =>
          import letter.{column, json, partition, reason, row}
          sql"($sinkId, $epoch, $partition, $row, $column, $reason, $json, $now)"
        }
        sql"INSERT INTO $into VALUES ${Sql.join(rows)}".update(connection)
      }
      .sum
  }

  /** Limits of a statement, which its last row may exceed: rows, and characters of their JSON. */
  private val MaxRows = 100
  private val MaxChars = 128L << 10
}
