package io.epochal.rest.source.record

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.engine.Examined

/** The records of an answer that is taken piece by piece.
  *
  * @param pieces
  *   each is of whole records, and of no use any more when the next is taken
  * @param open
  *   stands before the first record of a piece
  */
final private[rest] class PiecedRecords[R](pieces: Iterator[Utf8Body], open: Utf8Body => Records[R])
    extends Records[R] {

  private var current: Records[R] = NoRecords

  @scala.annotation.tailrec
  override def next(): Boolean =
    if (current.next()) true
    else if (pieces.hasNext) {
      current = open(pieces.next())
      next()
    } else false

  override def pass(): Unit = current.pass()

  override def row(rows: R): InternalRow = current.row(rows)

  override def examine(rows: R): Examined = current.examine(rows)

  override def bytes: Array[Byte] = current.bytes

  override def size: Int = current.size

  override def finish(): Unit = {
    val _ = skip(Long.MaxValue)
  }
}
