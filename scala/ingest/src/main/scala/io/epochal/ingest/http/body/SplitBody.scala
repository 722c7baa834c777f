package io.epochal.ingest.http.body

/** The records of a body, back to back.
  *
  * @param ends
  *   record i ends before `ends(i)`
  */
final private[http] case class SplitBody(bytes: Array[Byte], ends: Array[Int]) {
  def records: Int = ends.length
}

/** What the records of a request may be. */
final private[http] case class RecordLimits(maxRecordBytes: Int, maxRecords: Int)

/** Where the records of a body stand in its bytes, in their order. */
final private[body] class RecordSpans(limits: RecordLimits) {
  private var starts = new Array[Int](RecordSpans.FirstSize)
  private var ends = new Array[Int](RecordSpans.FirstSize)
  private var count = 0

  def size: Int = count

  /** @throws Refused
    *   the record is too large, or there are too many
    */
  def add(from: Int, until: Int): Unit = {
    if (until - from > limits.maxRecordBytes)
      throw new Refused(
        Refusal.tooLarge(s"a record is larger than ${limits.maxRecordBytes} bytes", Some(count), Some(from)))
    if (count == limits.maxRecords)
      throw new Refused(
        Refusal.tooLarge(s"the request has more than ${limits.maxRecords} records", Some(count), Some(from)))
    if (count == starts.length) {
      starts = java.util.Arrays.copyOf(starts, count * 2)
      ends = java.util.Arrays.copyOf(ends, count * 2)
    }
    starts(count) = from
    ends(count) = until
    count += 1
  }

  /** The records without what stands between them, in an array of their own. */
  def packed(bytes: Array[Byte]): SplitBody = {
    var size = 0
    var i = 0
    while (i < count) {
      size += ends(i) - starts(i)
      i += 1
    }
    val packed = new Array[Byte](size)
    val packedEnds = new Array[Int](count)
    var at = 0
    i = 0
    while (i < count) {
      val length = ends(i) - starts(i)
      System.arraycopy(bytes, starts(i), packed, at, length)
      at += length
      packedEnds(i) = at
      i += 1
    }
    SplitBody(packed, packedEnds)
  }
}

private object RecordSpans {
  private val FirstSize = 128
}
