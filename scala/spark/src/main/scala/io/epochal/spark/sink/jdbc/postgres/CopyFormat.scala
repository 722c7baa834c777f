package io.epochal.spark.sink.jdbc.postgres

import io.epochal.spark.seam.UnsafeRow
import io.epochal.spark.sink.jdbc.{BadValue, BoundColumn, ChunkedBytes, Operation, RowEncoder, RowFormat}

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
final case class CopyFormat(columns: Seq[BoundColumn], operation: Option[Int]) extends RowFormat {

  override def encoder(out: ChunkedBytes): RowEncoder = {
    val encoded = columns.map(CopyColumn(_)).toArray
    operation match {
      case None          => new CopyRowEncoder(encoded, out)
      case Some(ordinal) => new CopyChangeEncoder(encoded, columns.map(_.identifies).toArray, ordinal, out)
    }
  }
}

object CopyFormat {
  val Header: Array[Byte] = "PGCOPY\n\u00ff\r\n\u0000".getBytes("ISO-8859-1") ++ new Array[Byte](8)
  val Trailer: Array[Byte] = Array[Byte](-1, -1)
}

final private class CopyRowEncoder(columns: Array[CopyColumn], out: ChunkedBytes) extends RowEncoder {

  override def encode(row: UnsafeRow): Unit = {
    out.reserve(2)
    out.putShort(columns.length)
    var i = 0
    while (i < columns.length) {
      CopyRowEncoder.put(columns(i), row, out)
      i += 1
    }
  }
}

private object CopyRowEncoder {

  def put(column: CopyColumn, row: UnsafeRow, out: ChunkedBytes): Unit =
    if (!row.isNullAt(column.ordinal)) column.encode(row, out)
    else if (column.required) throw new BadValue(column.ordinal, BadValue.Missing)
    else putNull(out)

  def putNull(out: ChunkedBytes): Unit = {
    out.reserve(4)
    out.putInt(-1)
  }
}

final private class CopyChangeEncoder(
    columns: Array[CopyColumn],
    identifies: Array[Boolean],
    operation: Int,
    out: ChunkedBytes)
    extends RowEncoder {

  override def encode(row: UnsafeRow): Unit = {
    val deletes = Operation.deletes(row, operation)
    out.reserve(2)
    out.putShort(columns.length + 1)
    var i = 0
    while (i < columns.length) {
      if (deletes && !identifies(i)) CopyRowEncoder.putNull(out) else CopyRowEncoder.put(columns(i), row, out)
      i += 1
    }
    out.reserve(5)
    out.putInt(1)
    out.putByte(if (deletes) 1 else 0)
  }
}
