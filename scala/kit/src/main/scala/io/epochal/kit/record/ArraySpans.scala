package io.epochal.kit.record

/** The positions of an array's records.
  *
  * @param count
  *   the number of records, including those in no span
  * @param ends
  *   where the first record begins, and the last; None: there are no records
  */
final private[record] case class ArraySpans(spans: Vector[RecordSpan], count: Int, ends: Option[(Int, Int)])

private[record] object ArraySpans {

  /** Skips all records of an array.
    *
    * @param spanBytes
    *   a span ends with the record that makes it at least this large
    * @param skip
    *   number of records at the front that are in no span
    */
  def of(records: ArrayRecords, spanBytes: Int, skip: Long): ArraySpans = {
    val spans = Vector.newBuilder[RecordSpan]
    var count = 0
    var first = -1
    var last = -1
    var inSpan = 0
    var from = 0
    var until = 0
    while (records.next()) {
      records.pass()
      last = records.start
      if (count == 0) first = last
      if (count >= skip) {
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
    ArraySpans(spans.result(), count, Option.when(count > 0)((first, last)))
  }

  /** Each span as a separate array. If brackets surround it, the bytes are the body's; otherwise a copy that is valid until the
    * next one is taken.
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
