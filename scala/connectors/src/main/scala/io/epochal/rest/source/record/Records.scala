package io.epochal.rest.source.record

import org.apache.spark.sql.catalyst.InternalRow

import io.epochal.kit.engine.Examined

/** Steps through the records of one answer. Each is taken by one of `row`, `pass` and `unfit`; the last may follow `row`.
  *
  * Where the bytes are not what the format says, any step may throw a
  * [[com.fasterxml.jackson.core.JsonProcessingException]]: the answer broke off, or is something else altogether.
  *
  * @tparam R
  *   makes rows of records
  */
private[rest] trait Records[-R] {

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Passes over the record. */
  def pass(): Unit

  /** The record as a row.
    *
    * @throws Exception
    *   of many classes, where it does not fit
    */
  def row(rows: R): InternalRow

  /** What of the record fits, and what does not. */
  def examine(rows: R): Examined

  /** The record's bytes, once it was taken. */
  def bytes: Array[Byte]

  /** Their number. */
  def size: Int

  /** Reads on to the end of the answer, as a check. */
  def finish(): Unit

  /** Passes over at most `n` records.
    *
    * @return
    *   how many there were
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

/** Records that stand in lines. */
private[rest] trait LineRecords[-R] extends Records[R] {

  /** The byte at which the record's line begins. */
  def start: Int
}

/** Those of an answer that is absent. */
private[rest] object NoRecords extends Records[Any] {
  override def next(): Boolean = false
  override def pass(): Unit = ()
  override def finish(): Unit = ()
  override def row(rows: Any): InternalRow = throw new NoSuchElementException
  override def examine(rows: Any): Examined = throw new NoSuchElementException
  override def bytes: Array[Byte] = Array.emptyByteArray
  override def size: Int = 0
}
