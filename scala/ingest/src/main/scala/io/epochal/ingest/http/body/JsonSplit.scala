package io.epochal.ingest.http.body

import com.fasterxml.jackson.core.JsonProcessingException

import io.epochal.kit.json.JsonScan

/** A body that is one JSON value. Nothing is made of it: its bytes are stepped over. */
private[body] object JsonSplit {

  /** The elements of an array, or the value itself; an empty body is malformed. */
  def apply(bytes: Array[Byte], length: Int, limits: RecordLimits): SplitBody = {
    val scan = new JsonScan(bytes, Utf8.beginOf(bytes, length), length)
    val spans = new RecordSpans(limits)
    if (scan.next() == '[') elements(scan, spans)
    else value(scan, spans)
    if (scan.next() >= 0)
      throw new Refused(Refusal.malformed("something follows the JSON value", None, Some(scan.at)))
    spans.packed(bytes)
  }

  private def elements(scan: JsonScan, spans: RecordSpans): Unit = {
    var more = scan.pass() != ']'
    while (more) {
      value(scan, spans)
      scan.next() match {
        case ',' => scan.pass(): Unit
        case ']' => more = false
        case _ =>
          throw new Refused(
            Refusal.malformed("neither a comma nor the end of the array follows", Some(spans.size - 1), Some(scan.at)))
      }
    }
    scan.at += 1
  }

  private def value(scan: JsonScan, spans: RecordSpans): Unit = {
    val from = scan.at
    if (!scan.value())
      try scan.at = JsonValue.end(scan.bytes, from, scan.until)
      catch { case e: JsonProcessingException => throw new Refused(JsonValue.malformed(e, spans.size, from)) }
    spans.add(from, scan.at)
  }
}
