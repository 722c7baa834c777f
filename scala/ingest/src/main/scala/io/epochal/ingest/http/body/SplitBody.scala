package io.epochal.ingest.http.body

/** Records of a body, back to back.
  *
  * @param ends
  *   record i ends before `ends(i)`
  */
final private[http] case class SplitBody(bytes: Array[Byte], ends: Array[Int]) {
  def records: Int = ends.length
}

/** Limits on the records of a request. */
final private[http] case class RecordLimits(maxRecordBytes: Int, maxRecords: Int)

/** Collects the bounds of the records of a body, in order. */
final private[body] class RecordSpans(limits: RecordLimits) {
  private var starts = new Array[Int](RecordSpans.FirstSize)
  private var ends = new Array[Int](RecordSpans.FirstSize)
  private var count = 0
  private var bytesOfAll = 0

  def size: Int = count

  /** @throws Refused
    *   the record is too large, or there are too many
    */
  def add(from: Int, until: Int): Unit = {
    def refused(error: String) = new Refused(Refusal.tooLarge(error, Some(count), Some(from)))
    if (until - from > limits.maxRecordBytes) throw refused(s"a record is larger than ${limits.maxRecordBytes} bytes")
    if (count == limits.maxRecords) throw refused(s"the request has more than ${limits.maxRecords} records")
    if (count == starts.length) {
      starts = java.util.Arrays.copyOf(starts, count * 2)
      ends = java.util.Arrays.copyOf(ends, count * 2)
    }
    starts(count) = from
    ends(count) = until
    count += 1
    bytesOfAll += until - from
  }

  /** Copies the records without the bytes between them. */
  def packed(bytes: Array[Byte]): SplitBody = {
    val packed = new Array[Byte](bytesOfAll)
    val packedEnds = new Array[Int](count)
    var at = 0
    var i = 0
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

private[body] object RecordSpans {
  private val FirstSize = 128

  /** All bytes as one record. */
  def whole(bytes: Array[Byte], length: Int, limits: RecordLimits): SplitBody = {
    val spans = new RecordSpans(limits)
    spans.add(0, length)
    spans.packed(bytes)
  }
}
