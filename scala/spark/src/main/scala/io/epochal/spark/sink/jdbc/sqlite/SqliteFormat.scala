package io.epochal.spark.sink.jdbc.sqlite

import org.apache.spark.sql.types._

import io.epochal.spark.seam.{UnsafeRow, UnsafeRows}
import io.epochal.spark.sink.jdbc.json.JsonColumn
import io.epochal.spark.sink.jdbc.{BadValue, BoundColumn, ChunkedBytes, NulCharacter, Operation, RowEncoder, RowFormat, StoredText}

/** Spark's own row bytes: `int64 length, bytes`, one after the other; a row lies in one chunk.
  *
  * The driver binds them to statements ([[SqliteLoad]]). Bad values are found in the task, where the row is known.
  *
  * @param operation
  *   place in the query's rows of what says what a row does; of a row that deletes only what finds and orders it counts
  */
final case class SqliteFormat(columns: Seq[BoundColumn], operation: Option[Int], nul: NulCharacter) extends RowFormat {
  override def encoder(out: ChunkedBytes): RowEncoder =
    new SqliteRowEncoder(columns.map(new SqliteCheck(_, nul)).toArray, operation.getOrElse(-1), out)
}

final private class SqliteRowEncoder(checks: Array[SqliteCheck], operation: Int, out: ChunkedBytes) extends RowEncoder {
  override def encode(row: UnsafeRow): Unit = {
    val deletes = operation >= 0 && Operation.deletes(row, operation)
    var i = 0
    while (i < checks.length) {
      if (!deletes || checks(i).identifies) checks(i)(row)
      i += 1
    }
    val length = row.getSizeInBytes
    out.reserve(8 + length)
    out.putLong(length.toLong)
    out.putBytes(row.getBaseObject, row.getBaseOffset, length)
  }
}

final private class SqliteCheck(bound: BoundColumn, nul: NulCharacter) {
  private val ordinal = bound.ordinal
  val identifies: Boolean = bound.identifies

  private val problem: UnsafeRow => String = bound.field.dataType match {
    case FloatType  => row => if (row.getFloat(ordinal).isNaN) NotANumber else null
    case DoubleType => row => if (row.getDouble(ordinal).isNaN) NotANumber else null
    case _: StringType | _: CharType | _: VarcharType =>
      val text = new StoredText(nul)
      row => text.take(row.getBaseObject, UnsafeRows.address(row, ordinal), UnsafeRows.length(row, ordinal))
    case nested if SqliteType.isNested(nested) =>
      val json = new JsonColumn(bound, nul)
      row => json.problem(row)
    case DateType => row => outside(row.getInt(ordinal).toLong, SqliteTime.FirstDay, SqliteTime.LastDay)
    case TimestampType | TimestampNTZType =>
      row => outside(row.getLong(ordinal), SqliteTime.FirstMicro, SqliteTime.LastMicro)
    case _ => _ => null
  }

  def apply(row: UnsafeRow): Unit =
    if (row.isNullAt(ordinal)) {
      if (bound.required) throw new BadValue(ordinal, BadValue.Missing)
    } else {
      val found = problem(row)
      if (found != null) throw new BadValue(ordinal, found)
    }

  private def outside(value: Long, first: Long, last: Long): String =
    if (value < first || value > last) "as text in ISO 8601 it has a year from 1 to 9999 only" else null

  private def NotANumber = "SQLite has no NaN and would store NULL"
}
