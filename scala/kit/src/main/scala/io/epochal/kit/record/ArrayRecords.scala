package io.epochal.kit.record

import com.fasterxml.jackson.core.JsonParser

/** The records of a JSON array, and where they stand in its bytes. */
abstract private[epochal] class ArrayRecords extends Records {

  /** The byte behind the opening bracket. */
  def begin: Int

  /** The first byte of the record. */
  def start: Int

  /** The byte of the closing bracket, once `next()` has given false. */
  def end: Int

  /** Reads what is around the array, itself left empty, once `next()` has given false. */
  def around[A](read: JsonParser => A): A
}

/** Where consecutive records stand in a body.
  *
  * @param records
  *   how many
  * @param from
  *   the byte at which the first of them begins, or white space before it
  * @param until
  *   the byte after the last one, or after white space behind it
  */
final private[epochal] case class RecordSpan(records: Int, from: Int, until: Int)

/** Passes over all records of an array, and finds where they stand.
  *
  * @param spanBytes
  *   a span ends with the record that makes it at least so large
  * @param skip
  *   records at the front that no span has
  * @param take
  *   the maximum of records that the spans have
  */
final private[record] class ArraySpans(records: ArrayRecords, spanBytes: Int, skip: Long, take: Long) {
  private var passed = 0
  private var firstStart = -1
  private var lastStart = -1
  private var restStart = -1

  val spans: Vector[RecordSpan] = {
    val found = Vector.newBuilder[RecordSpan]
    var inSpan = 0
    var from = 0
    var until = 0
    while (records.next()) {
      records.pass()
      lastStart = records.start
      if (passed == 0) firstStart = lastStart
      if (passed - skip == take) restStart = lastStart
      if (passed >= skip && passed - skip < take) {
        if (inSpan == 0) from = lastStart
        until = lastStart + records.size
        inSpan += 1
        if (until - from >= spanBytes) {
          found += RecordSpan(inSpan, from, until)
          inSpan = 0
        }
      }
      passed += 1
    }
    if (inSpan > 0) found += RecordSpan(inSpan, from, until)
    found.result()
  }

  /** How many records there are, with those that no span has. */
  def count: Int = passed

  /** Where the first record begins, and the last; None: there are no records. */
  def ends: Option[(Int, Int)] = Option.when(passed > 0)((firstStart, lastStart))

  /** Where the record behind the last one of a span begins; None: it is the last of all. */
  def rest: Option[Int] = Option.when(restStart >= 0)(restStart)
}

private[record] object ArraySpans {

  /** Each span as an array of its own. Where brackets stand around it the bytes are those of the body, else a copy that is valid until
    * the next one is taken.
    */
  def blocks(body: ByteSource, spans: Seq[RecordSpan]): Iterator[RecordBlock] = {
    var array = Array.emptyByteArray
    spans.iterator.map { span =>
      body match {
        case piece: Piece if piece.bytes(span.from - 1) == '[' && piece.bytes(span.until) == ']' =>
          RecordBlock(span.records, piece.bytes, span.from - 1, span.until + 1)
        case _ =>
          val length = span.until - span.from + 2
          if (array.length < length) array = new Array[Byte](length)
          array(0) = '['
          body.read(span.from, array, 1, length - 2)
          array(length - 1) = ']'
          RecordBlock(span.records, array, 0, length)
      }
    }
  }
}
