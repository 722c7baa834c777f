package io.epochal.spark.sink.jdbc.postgres

import io.epochal.spark.seam.{UnsafeLayout, UnsafeRow}
import io.epochal.spark.sink.jdbc.{BadValue, BoundColumn, ChunkedBytes, NulCharacter, Operation, RowEncoder, RowFormat}

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
    val values = columns.map { bound =>
      CopyValue(bound.ordinal, bound.field.dataType, bound.column.columnType.asInstanceOf[PostgresType], nul)
    }
    val row = new CopyRow(columns.map(_.ordinal).toArray, columns.map(_.required).toArray, values.toArray, out)
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

/** Writes the parts of a row. */
final private class CopyRow(
    ordinals: Array[Int],
    required: Array[Boolean],
    values: Array[CopyValue],
    out: ChunkedBytes
) {
  val columns: Int = values.length
  private var row: UnsafeRow = _
  private var base: AnyRef = _
  private var origin = 0L
  private var slots = 0L

  /** @param fields
    *   how many values follow
    */
  def begin(row: UnsafeRow, fields: Int): Unit = {
    this.row = row
    base = row.getBaseObject
    origin = row.getBaseOffset
    slots = UnsafeLayout.slotsOfRow(origin, row.numFields)
    out.reserve(2)
    out.putShort(fields)
  }

  def put(column: Int): Unit = {
    val ordinal = ordinals(column)
    if (!row.isNullAt(ordinal)) values(column).encode(base, origin, slots + ordinal * 8L, out)
    else if (required(column)) throw new BadValue(ordinal, BadValue.Missing)
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

  override def encode(row: UnsafeRow): Unit = {
    to.begin(row, to.columns)
    var i = 0
    while (i < to.columns) {
      to.put(i)
      i += 1
    }
  }
}

final private class CopyChangeEncoder(to: CopyRow, identifies: Array[Boolean], operation: Int) extends RowEncoder {

  override def encode(row: UnsafeRow): Unit = {
    val deletes = Operation.deletes(row, operation)
    to.begin(row, to.columns + 1)
    var i = 0
    while (i < to.columns) {
      if (deletes && !identifies(i)) to.putNull() else to.put(i)
      i += 1
    }
    to.putBoolean(deletes)
  }
}
