package io.epochal.ingest.http.body

import com.fasterxml.jackson.core.JsonProcessingException

import io.epochal.kit.json.JsonScan

/** Bodies of lines. A line ends with a line feed, before which a carriage return does not count; the last one may lack it. */
private[body] object LineSplit {

  /** Each line is a record, also an empty one. */
  def text(bytes: Array[Byte], length: Int, limits: RecordLimits, check: Boolean): SplitBody = {
    val begin = Utf8.beginOf(bytes, length)
    val spans = new RecordSpans(limits)
    eachLine(bytes, begin, length)(spans.add)
    val wrong = if (check) Utf8.firstInvalid(bytes, begin, length) else -1
    if (wrong >= 0)
      throw new Refused(Refusal.malformed("the text is not UTF-8", Some(breaks(bytes, begin, wrong)), Some(wrong)))
    spans.packed(bytes)
  }

  /** Each line that is not blank is a record, and one JSON value. */
  def json(bytes: Array[Byte], length: Int, limits: RecordLimits, check: Boolean): SplitBody = {
    val spans = new RecordSpans(limits)
    eachLine(bytes, Utf8.beginOf(bytes, length), length) { (from, until) =>
      val scan = new JsonScan(bytes, from, until)
      if (scan.next() >= 0) {
        val begin = scan.at
        if (check && (!scan.value() || scan.next() >= 0)) requireValue(bytes, begin, until, spans.size)
        spans.add(begin, until)
      }
    }
    spans.packed(bytes)
  }

  private def requireValue(bytes: Array[Byte], from: Int, until: Int, record: Int): Unit = {
    val end =
      try JsonValue.end(bytes, from, until)
      catch { case e: JsonProcessingException => throw new Refused(JsonValue.malformed(e, record, from)) }
    val rest = new JsonScan(bytes, end, until)
    if (rest.next() >= 0)
      throw new Refused(Refusal.malformed("a line holds more than one value", Some(record), Some(rest.at)))
  }

  private def eachLine(bytes: Array[Byte], begin: Int, length: Int)(line: (Int, Int) => Unit): Unit = {
    var from = begin
    var at = begin
    while (at < length) {
      if (bytes(at) == '\n') {
        line(from, if (at > from && bytes(at - 1) == '\r') at - 1 else at)
        from = at + 1
      }
      at += 1
    }
    if (from < length) line(from, length)
  }

  private def breaks(bytes: Array[Byte], from: Int, until: Int): Int =
    (from until until).count(bytes(_) == '\n')
}
