package io.epochal.jdbc.routing

import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.database.FeedColumns
import io.epochal.kit.sink.row.{BadValue, ChunkedBytes, RowEncoder, RowFormat}
import io.epochal.kit.spark.memory.{BinaryRow, FlatRow}

/** Rows of several tables, each encoded for its own: `int16 table, int32 length, bytes` for each row, which never crosses a chunk
  * boundary. [[RoutedRows]] takes them apart. A row goes into each table of its name: a replica, and one that keeps every change,
  * which gets an empty entry for a row of a comparison.
  *
  * @param name
  *   index of the column with the name of a row's table
  * @param feed
  *   indexes of the columns that all tables share
  * @param tables
  *   name, index of its STRUCT, and format of each; whether it keeps every change
  */
final private[jdbc] case class RoutedFormat(
    schema: StructType,
    name: Int,
    feed: Seq[Int],
    tables: Seq[(String, Int, RowFormat, Boolean)])
    extends RowFormat {
  override def encoder(out: ChunkedBytes): RowEncoder = new RoutedEncoder(this, out)
}

final private class RoutedEncoder(format: RoutedFormat, out: ChunkedBytes) extends RowEncoder {
  import format.{feed, name, schema}

  private val buffer = new ChunkedBytes(RoutedRows.LongestRow, () => throw new BadValue(name, "its row exceeds 2 GB"))
  private val changeType = feed.find(schema(_).name == FeedColumns.ChangeType).getOrElse(-1)
  private val encoders = new java.util.HashMap[UTF8String, Array[TableEncoder]]
  format.tables.zipWithIndex.groupBy(_._1._1).foreach { case (table, copies) =>
    val ofTable = copies.map { case ((_, struct, of, keepsAll), i) => new TableEncoder(i, struct, of, keepsAll) }
    encoders.put(UTF8String.fromString(table), ofTable.toArray)
  }

  override def encode(row: BinaryRow): Unit = {
    if (row.isNullAt(name)) throw new BadValue(name, BadValue.Missing)
    val ofTable = encoders.get(row.getUTF8String(name))
    if (ofTable == null)
      throw new BadValue(name, s"it is '${row.getUTF8String(name)}', and the query has no column of that name")
    var i = 0
    while (i < ofTable.length) {
      buffer.clear()
      if (!(ofTable(i).keepsAll && isComparison(row))) ofTable(i).encode(row)
      val length = buffer.size.toInt
      out.reserve(RoutedRows.Head + length)
      out.putShort(ofTable(i).number)
      out.putInt(length)
      buffer.copyTo(out)
      i += 1
    }
  }

  private def isComparison(row: BinaryRow): Boolean =
    changeType >= 0 && !row.isNullAt(changeType) && row.getUTF8String(changeType).startsWith(RoutedEncoder.Verify)

  final private class TableEncoder(val number: Int, struct: Int, format: RowFormat, val keepsAll: Boolean) {
    private val columns = schema(struct).dataType.asInstanceOf[StructType]

    // Most tasks have rows of few tables.
    private lazy val flat = new FlatRow(schema, struct, feed)
    private lazy val encoder = format.encoder(buffer)

    def encode(row: BinaryRow): Unit =
      try encoder.encode(flat(row))
      catch {
        case bad: BadValue if bad.column < columns.length =>
          val column = columns(bad.column)
          throw new BadValue(struct, s"${column.name} ${column.dataType.sql}: ${bad.reason}")
        case bad: BadValue => throw new BadValue(feed(bad.column - columns.length), bad.reason)
      }
  }
}

private object RoutedEncoder {
  val Verify: UTF8String = UTF8String.fromString("verify")
}
