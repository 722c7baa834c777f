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

/** Where the records of an array stand.
  *
  * @param count
  *   how many records there are, with those that no span has
  * @param ends
  *   where the first record begins, and the last; None: there are no records
  * @param rest
  *   where the record behind the last one of a span begins; None: it is the last of all
  */
final private[record] case class ArraySpans(
    spans: Vector[RecordSpan],
    count: Int,
    ends: Option[(Int, Int)],
    rest: Option[Int]
)

private[record] object ArraySpans {

  /** Passes over all records of an array.
    *
    * @param spanBytes
    *   a span ends with the record that makes it at least so large
    * @param skip
    *   records at the front that no span has
    * @param take
    *   the maximum of records that the spans have
    */
  def of(records: ArrayRecords, spanBytes: Int, skip: Long, take: Long): ArraySpans = {
    val spans = Vector.newBuilder[RecordSpan]
    var count = 0
    var first = -1
    var last = -1
    var rest = -1
    var inSpan = 0
    var from = 0
    var until = 0
    while (records.next()) {
      records.pass()
      last = records.start
      if (count == 0) first = last
      if (count - skip == take) rest = last
      if (count >= skip && count - skip < take) {
        if (inSpan == 0) from = last
        until = last + records.size
        inSpan += 1
        if (until - from >= spanBytes) {
          spans += RecordSpan(inSpan, from, until)
          inSpan = 0
        }
      }
      count += 1
    }
    if (inSpan > 0) spans += RecordSpan(inSpan, from, until)
    ArraySpans(
      spans.result(),
      count,
      Option.when(count > 0)((first, last)),
      Option.when(rest >= 0)(rest)
    )
  }

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
