package io.epochal.jdbc.postgres

import io.epochal.jdbc.database.{BoundColumn, Operation}
import io.epochal.jdbc.row.NulCharacter
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.BinaryRow

/** PostgreSQL's binary COPY format, version 1: a header, rows, a trailer. Tasks write the rows only.
  *
  * {{{
  *   header   "PGCOPY\n\377\r\n\0", int32 flags = 0, int32 length of the extension = 0
  *   row      int16 number of columns, then for each: int32 length of the value (-1: NULL), the value
  *   trailer  int16 -1
  * }}}
  *
  * @param operation
  *   place in the query's rows of what says what a row does; then a boolean comes after the columns, and a row that
  *   deletes has only those that find it and order it
  */
final case class CopyFormat(columns: Seq[BoundColumn], operation: Option[Int], nul: NulCharacter) extends RowFormat {

  override def encoder(out: ChunkedBytes): RowEncoder = {
    val cells = columns.map { bound =>
      val to = bound.column.columnType.asInstanceOf[PostgresType]
      new CopyCell(bound.ordinal, bound.required, CopyValue(bound.ordinal, bound.field.dataType, to, nul))
    }
    val row = new CopyRow(cells.toArray, out)
    operation match {
      case None          => new CopyRowEncoder(row)
      case Some(ordinal) => new CopyChangeEncoder(row, columns.map(_.identifies).toArray, ordinal)
    }
  }
}

object CopyFormat {
  val Header: Array[Byte] = "PGCOPY\n\u00ff\r\n\u0000".getBytes("ISO-8859-1") ++ new Array[Byte](8)
  val Trailer: Array[Byte] = Array[Byte](-1, -1)
}

/** A column of the query's rows and how its values are written. */
final private class CopyCell(val ordinal: Int, val required: Boolean, val value: CopyValue)

/** Writes the parts of a row. */
final private class CopyRow(cells: Array[CopyCell], out: ChunkedBytes) {
  val columns: Int = cells.length

  /** @param fields
    *   how many values follow
    */
  def begin(fields: Int): Unit = {
    out.reserve(2)
    out.putShort(fields)
  }

  def put(row: BinaryRow, column: Int): Unit = {
    val cell = cells(column)
    if (!row.isNullAt(cell.ordinal)) {
      val origin = row.origin
      val slot = row.slot(cell.ordinal)
      cell.value.encode(row.base, origin, slot, out)
    } else if (cell.required) throw new BadValue(cell.ordinal, BadValue.Missing)
    else putNull()
  }

  def putNull(): Unit = {
    out.reserve(4)
    out.putInt(-1)
  }

  def putBoolean(value: Boolean): Unit = {
    out.reserve(5)
    out.putInt(1)
    out.putByte(if (value) 1 else 0)
  }
}

final private class CopyRowEncoder(to: CopyRow) extends RowEncoder {

  override def encode(row: BinaryRow): Unit = {
    to.begin(to.columns)
    var i = 0
    while (i < to.columns) {
      to.put(row, i)
      i += 1
    }
  }
}

final private class CopyChangeEncoder(to: CopyRow, identifies: Array[Boolean], operation: Int) extends RowEncoder {

  override def encode(row: BinaryRow): Unit = {
    val deletes = Operation.deletes(row, operation)
    to.begin(to.columns + 1)
    var i = 0
    while (i < to.columns) {
      if (deletes && !identifies(i)) to.putNull() else to.put(row, i)
      i += 1
    }
    to.putBoolean(deletes)
  }
}
