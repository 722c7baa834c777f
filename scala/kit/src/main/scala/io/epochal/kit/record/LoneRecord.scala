package io.epochal.kit.record

import java.util.Arrays

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.spark.Examined

/** A record that was received as one: a line or a message, and not a part of a body. `next` is not asked; whoever has the bytes says
  * by `set` which are the record's.
  */
final private[epochal] class LoneRecord(format: RecordFormat.OfLines, place: String) extends Records {
  private var array = Array.emptyByteArray
  private var from = 0
  private var until = 0
  private var copied = Option.empty[Array[Byte]]

  def set(bytes: Array[Byte], begin: Int, end: Int): Unit = {
    array = bytes
    from = begin
    until = end
    copied = None
  }

  override def next(): Boolean = false

  override def pass(): Unit = ()

  override def row(columns: RecordColumns): InternalRow = format match {
    case _: RecordFormat.Ndjson =>
      val row = JsonLine.plain(array, from, until, columns)
      if (row != null) row else JsonLine.parsed(bytes, columns)
    case _ => line.fold(columns.empty)(_.row(columns))
  }

  override def examine(columns: RecordColumns): Examined = format match {
    case _: RecordFormat.Ndjson => columns.json.examine(bytes)
    case _                      => line.fold(Examined(columns.empty, None))(_.examine(columns))
  }

  override def bytes: Array[Byte] = copied.getOrElse {
    val copy = Arrays.copyOfRange(array, from, until)
    copied = Some(copy)
    copy
  }

  override def size: Int = until - from

  override def finish(): Unit = ()

  /** The record as the only line of a piece; None: it is blank. */
  private def line: Option[Records] = {
    val records = format.read(new Piece(bytes, size), place)
    Option.when(records.next())(records)
  }
}
