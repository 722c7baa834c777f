package io.epochal.kit.connector

import java.nio.ByteBuffer

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.StructType

import io.epochal.kit.sink.row.{ChunkedBytes, EncodedRows, RowEncoder, RowFormat}
import io.epochal.kit.spark.ValueRows
import io.epochal.kit.spark.memory.BinaryRow

/** Rows in Spark's own binary form on their way to the driver: int64 number of bytes, big-endian, then the bytes. */
final private[connector] case class BinaryRows(schema: StructType, check: Option[RowCheck]) extends RowFormat {

  override def encoder(out: ChunkedBytes): RowEncoder = new RowEncoder {
    private val values = new ValueRows(schema)

    override def encode(row: BinaryRow): Unit = {
      check.foreach(_.check(values.values(row.internal)))
      out.reserve(BinaryRows.Head + row.sizeInBytes)
      out.putLong(row.sizeInBytes.toLong)
      out.putBytes(row.base, row.origin, row.sizeInBytes)
    }
  }

  /** The rows, as values. Each chunk has whole rows. */
  def decode(rows: EncodedRows): Iterator[Row] = {
    val values = new ValueRows(schema)
    val shown = BinaryRow.empty(schema.length)
    rows.chunks.iterator.flatMap { case (bytes, count) =>
      Iterator.unfold(0) { at =>
        Option.when(at < count) {
          val size = ByteBuffer.wrap(bytes, at, BinaryRows.Head).getLong.toInt
          shown.pointTo(bytes, at + BinaryRows.Head, size)
          (values.values(shown.internal), at + BinaryRows.Head + size)
        }
      }
    }
  }
}

private object BinaryRows {
  private val Head = 8
}
