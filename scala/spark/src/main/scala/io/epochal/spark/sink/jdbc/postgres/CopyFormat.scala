package io.epochal.spark.sink.jdbc.postgres

import io.epochal.spark.seam.UnsafeRow
import io.epochal.spark.sink.jdbc.{BadValue, BoundColumn, ChunkedBytes, RowEncoder, RowFormat}

/** PostgreSQL's binary COPY format, version 1: a header, rows, a trailer. Tasks write the rows only.
  *
  * {{{
  *   header   "PGCOPY\n\377\r\n\0", int32 flags = 0, int32 length of the extension = 0
  *   row      int16 number of columns, then for each: int32 length of the value (-1: NULL), the value
  *   trailer  int16 -1
  * }}}
  */
final case class CopyFormat(columns: Seq[BoundColumn]) extends RowFormat {
  override def encoder(out: ChunkedBytes): RowEncoder = new CopyRowEncoder(columns.map(CopyColumn(_)).toArray, out)
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
      val column = columns(i)
      if (!row.isNullAt(column.ordinal)) column.encode(row, out)
      else if (column.required) throw new BadValue(column.ordinal, BadValue.Missing)
      else {
        out.reserve(4)
        out.putInt(-1)
      }
      i += 1
    }
  }
}
