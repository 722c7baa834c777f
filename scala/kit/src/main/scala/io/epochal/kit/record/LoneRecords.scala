package io.epochal.kit.record

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.spark.Examined

/** Records that were received one by one, as lines or messages: `next` passes the bytes of each to `set`.
  *
  * @param format
  *   of lines
  */
abstract private[epochal] class LoneRecords(format: RecordFormat, place: String) extends Records with Pages {
  private var array = Array.emptyByteArray
  private var from = 0
  private var until = 0
  private var copiedBytes = Option.empty[Array[Byte]]

  final protected def set(bytes: Array[Byte], begin: Int, end: Int): Unit = {
    array = bytes
    from = begin
    until = end
    copiedBytes = None
  }

  override def records: Records = this

  override def origin: Option[RecordOrigin] = None

  override def count: Long = 0L

  override def row(columns: RecordColumns): InternalRow = format match {
    case _: RecordFormat.Ndjson =>
      val row = JsonLine.plain(array, from, until, columns)
      if (row != null) row else JsonLine.parsed(bytes, columns)
    case _ => line.fold(columns.empty)(_.row(columns))
  }

  override def examine(columns: RecordColumns): Examined = format match {
    case _: RecordFormat.Ndjson => super.examine(columns)
    case _                      => line.fold(Examined(columns.empty, None))(_.examine(columns))
  }

  override def bytes: Array[Byte] = copiedBytes.getOrElse {
    val copy = Arrays.copyOfRange(array, from, until)
    copiedBytes = Some(copy)
    copy
  }

  override def size: Int = until - from

  /** The record as the only line of a piece; None: it is blank. */
  private def line: Option[Records] = {
    val lines = format.read(new Piece(bytes, size), place)
    Option.when(lines.next())(lines)
  }

  override def close(): Unit = ()
}
