package io.epochal.jdbc.routing

import java.nio.ByteBuffer

import io.epochal.kit.sink.row.EncodedRows

/** The rows of an epoch by their tables. Reads the chunks once, and again for each table.
  *
  * @param rows
  *   in [[RoutedFormat]]
  * @param tables
  *   their number
  */
final private[jdbc] class RoutedRows(rows: EncodedRows, tables: Int) {
  import RoutedRows._

  private val counts, sizes = new Array[Long](tables)
  private var total = 0L
  rows.chunks.foreach { case (bytes, length) =>
    val in = ByteBuffer.wrap(bytes, 0, length)
    while (in.hasRemaining) {
      val table = in.getShort & 0xffff
      val size = in.getInt
      if (size > 0) counts(table) += 1
      total += 1
      sizes(table) += size
      in.position(in.position() + size)
    }
  }

  /** The rows of all tables, including empty ones. */
  def all: Long = total

  /** The rows of a table; None: there are none. */
  def of(table: Int): Option[EncodedRows] = Option.when(counts(table) > 0)(
    EncodedRows(
      counts(table),
      sizes(table),
      new Iterable[(Array[Byte], Int)] {
        override def iterator: Iterator[(Array[Byte], Int)] =
          rows.chunks.iterator.map { case (bytes, length) => part(table, bytes, length) }.filter(_._2 > 0)
      }
    ))
}

private[routing] object RoutedRows {

  /** Bytes before a row. */
  val Head = 6
  val LongestRow: Long = Int.MaxValue - 1024L

  /** The rows of one table in a chunk, and their length. */
  private def part(table: Int, bytes: Array[Byte], length: Int): (Array[Byte], Int) = {
    val in = ByteBuffer.wrap(bytes, 0, length)
    val part = new Array[Byte](length)
    var end = 0
    while (in.hasRemaining) {
      val isOfTable = (in.getShort & 0xffff) == table
      val size = in.getInt
      if (isOfTable) {
        System.arraycopy(bytes, in.position(), part, end, size)
        end += size
      }
      in.position(in.position() + size)
    }
    (part, end)
  }
}
