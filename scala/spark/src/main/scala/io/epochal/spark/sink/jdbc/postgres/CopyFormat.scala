package io.epochal.spark.sink.jdbc.postgres

import io.epochal.spark.seam.{UnsafeLayout, UnsafeRow}
import io.epochal.spark.sink.jdbc.{BadValue, BoundColumn, ChunkedBytes, NulCharacter, RowEncoder, RowFormat}

/** PostgreSQL's binary COPY format, version 1: a header, rows, a trailer. Tasks write the rows only.
  *
  * {{{
  *   header   "PGCOPY\n\377\r\n\0", int32 flags = 0, int32 length of the extension = 0
  *   row      int16 number of columns, then for each: int32 length of the value (-1: NULL), the value
  *   trailer  int16 -1
  * }}}
  */
final case class CopyFormat(columns: Seq[BoundColumn], nul: NulCharacter) extends RowFormat {
  override def encoder(out: ChunkedBytes): RowEncoder = {
    val cells = columns.map { bound =>
      val to = bound.column.columnType.asInstanceOf[PostgresType]
      new CopyCell(bound.ordinal, bound.required, CopyValue(bound.ordinal, bound.field.dataType, to, nul))
    }
    new CopyRowEncoder(cells.toArray, out)
  }
}

object CopyFormat {
  val Header: Array[Byte] = "PGCOPY\n\u00ff\r\n\u0000".getBytes("ISO-8859-1") ++ new Array[Byte](8)
  val Trailer: Array[Byte] = Array[Byte](-1, -1)
}

/** A column of the query's rows and how its values are written. */
final private class CopyCell(val ordinal: Int, val required: Boolean, val value: CopyValue)

final private class CopyRowEncoder(cells: Array[CopyCell], out: ChunkedBytes) extends RowEncoder {

  override def encode(row: UnsafeRow): Unit = {
    val base = row.getBaseObject
    val origin = row.getBaseOffset
    val slots = UnsafeLayout.slotsOfRow(origin, row.numFields)
    out.reserve(2)
    out.putShort(cells.length)
    var i = 0
    while (i < cells.length) {
      val cell = cells(i)
      if (!row.isNullAt(cell.ordinal)) cell.value.encode(base, origin, slots + cell.ordinal * 8L, out)
      else if (cell.required) throw new BadValue(cell.ordinal, BadValue.Missing)
      else {
        out.reserve(4)
        out.putInt(-1)
      }
      i += 1
    }
  }
}
