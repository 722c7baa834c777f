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
  def pass(): Unit

  /** The record as a row.
    *
    * @throws Exception
    *   of many classes, if it does not fit
    */
  def row(columns: RecordColumns): InternalRow

  /** The values of the record that fit, and a description of those that do not. */
  def examine(columns: RecordColumns): Examined

  /** The record's bytes, after it was taken. */
  def bytes: Array[Byte]

  /** The number of the record's bytes. */
  def size: Int

  /** Reads to the end of the body, as a check. */
  def finish(): Unit

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

/** The records of an absent body: none. */
private[epochal] object NoRecords extends Records {
  override def next(): Boolean = false
  override def pass(): Unit = ()
  override def finish(): Unit = ()
  override def row(columns: RecordColumns): InternalRow = throw new NoSuchElementException
  override def examine(columns: RecordColumns): Examined = throw new NoSuchElementException
  override def bytes: Array[Byte] = Array.emptyByteArray
  override def size: Int = 0
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

/** The records that one task reads, page after page. Used by the task's own thread only. */
private[epochal] trait Pages extends AutoCloseable {

  /** The records of the page. */
  def records: Records

  /** The page's origin; None: it is unknown, or no column holds it. */
  def origin: Option[RecordOrigin]

  /** The number of the current record. */
  def index: Long

  /** The number of pages read. */
  def count: Long

  /** Moves to the next record, if there is one. */
  def next(): Boolean

  /** Whether the page was invalid and has been replaced: the new one is at the same record. */
  def replaced(): Boolean = false
}

/** Pages that a [[PageScan]] has read before, and so verified. */
abstract private[epochal] class ScannedPages extends Pages {
  private var current: Records = NoRecords
  private var first = 0L
  private var wanted = 0
  private var passed = 0
  private var opened = 0L

  /** Opens the next page; false after the last. */
  protected def nextPage(): Boolean

  /** Positions before `take` records of a page, after its first `skip`; `index` is the number of the first of them. */
  final protected def open(page: Records, index: Long, skip: Int, take: Int): Unit = {
    current = page
    first = index
    wanted = take
    passed = 0
    opened += 1
    val _ = page.skip(skip.toLong)
  }

  final override def records: Records = current

  final override def index: Long = first + passed - 1

  final override def count: Long = opened

  @scala.annotation.tailrec
  final override def next(): Boolean =
    if (passed < wanted) {
      if (!current.next()) throw new IllegalStateException(s"a page of $wanted records has $passed")
      passed += 1
      true
    } else if (nextPage()) next()
    else false
}
