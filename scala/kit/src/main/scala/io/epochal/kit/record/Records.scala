package io.epochal.kit.record

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.spark.Examined

/** Iterates over the records of a body, or of a part of one. Each record is taken by one of `row`, `pass` and `examine`;
  * `examine` may also follow `row`.
  *
  * If the bytes are not in the declared format, any step may throw a [[com.fasterxml.jackson.core.JsonProcessingException]]:
  * the body is truncated, or is something else.
  */
private[epochal] trait Records {

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Skips the record. */
  def pass(): Unit = ()

  /** The record as a row.
    *
    * @throws Exception
    *   of many classes, if it does not fit
    */
  def row(columns: RecordColumns): InternalRow

  /** The values of the record that fit, and a description of those that do not. */
  def examine(columns: RecordColumns): Examined = columns.json.examine(bytes)

  /** The record's bytes, after it was taken. */
  def bytes: Array[Byte]

  /** The number of the record's bytes. */
  def size: Int = bytes.length

  /** Reads to the end of the body, as a check. */
  def finish(): Unit = ()

  /** Skips at most `n` records.
    *
    * @return
    *   the number of skipped records
    */
  final def skip(n: Long): Long = {
    var skipped = 0L
    while (skipped < n && next()) {
      pass()
      skipped += 1
    }
    skipped
  }
}

/** The records of a body that is read piece by piece.
  *
  * @param pieces
  *   of whole records; each is invalid once the next is taken
  * @param open
  *   returns a piece's records, positioned before the first
  */
final private[record] class PiecedRecords(pieces: Iterator[Piece], open: Piece => Records) extends Records {
  private var current: Records = NoRecords

  @scala.annotation.tailrec
  override def next(): Boolean =
    if (current.next()) true
    else if (pieces.hasNext) {
      current = open(pieces.next())
      next()
    } else false

  override def pass(): Unit = current.pass()

  override def row(columns: RecordColumns): InternalRow = current.row(columns)

  override def examine(columns: RecordColumns): Examined = current.examine(columns)

  override def bytes: Array[Byte] = current.bytes

  override def size: Int = current.size

  override def finish(): Unit = {
    val _ = skip(Long.MaxValue)
  }
}
