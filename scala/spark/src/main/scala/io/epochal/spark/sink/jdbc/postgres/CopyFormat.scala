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
    val values = columns.map { bound =>
      CopyValue(bound.ordinal, bound.field.dataType, bound.column.columnType.asInstanceOf[PostgresType], nul)
    }
    new CopyRowEncoder(columns.map(_.ordinal).toArray, columns.map(_.required).toArray, values.toArray, out)
  }
}

object CopyFormat {
  val Header: Array[Byte] = "PGCOPY\n\u00ff\r\n\u0000".getBytes("ISO-8859-1") ++ new Array[Byte](8)
  val Trailer: Array[Byte] = Array[Byte](-1, -1)
}

final private class CopyRowEncoder(
    ordinals: Array[Int],
    required: Array[Boolean],
    values: Array[CopyValue],
    out: ChunkedBytes
) extends RowEncoder {

  override def encode(row: UnsafeRow): Unit = {
    val base = row.getBaseObject
    val origin = row.getBaseOffset
    val slots = UnsafeLayout.slotsOfRow(origin, row.numFields)
    out.reserve(2)
    out.putShort(values.length)
    var i = 0
    while (i < values.length) {
      val ordinal = ordinals(i)
      if (!row.isNullAt(ordinal)) values(i).encode(base, origin, slots + ordinal * 8L, out)
      else if (required(i)) throw new BadValue(ordinal, BadValue.Missing)
      else {
        out.reserve(4)
        out.putInt(-1)
      }
      i += 1
    }
  }
}
