package io.epochal.ingest.http.body

import java.util.Locale

import scala.util.Using

import com.fasterxml.jackson.core.{JsonParser, JsonProcessingException}

import io.epochal.kit.json.{Json => Jackson, JsonScan}

/** Splits a body into records, by its `Content-Type`. Records are not parsed: they keep the bytes that were sent. */
sealed private[http] trait BodyFormat {

  /** Splits a body.
    *
    * @param length
    *   of the body, which begins at index 0
    * @param keepMalformed
    *   whether to keep malformed input: single lines of NDJSON; other bodies whole, as one record
    * @throws Refused
    *   the body is malformed, or exceeds a limit
    */
  def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody
}

private[http] object BodyFormat {

  /** `text/plain`: each line is a record, empty lines included. */
  case object Lines extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody = {
      val begin = beginOf(bytes, length)
      val spans = new RecordSpans(limits)
      eachLine(bytes, begin, length)(spans.add)
      val scan = new JsonScan(bytes, begin, length)
      if (!keepMalformed && !scan.text()) {
        val line = (begin until scan.at).count(bytes(_) == '\n')
        throw new Refused(Refusal.malformed("the text is not UTF-8", Some(line), Some(scan.at)))
      }
      spans.packed(bytes)
    }
  }

  /** `application/x-ndjson`: each line that is not blank is a record, and must be a JSON value. */
  case object Ndjson extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody = {
      val spans = new RecordSpans(limits)
      eachLine(bytes, beginOf(bytes, length), length) { (from, until) =>
        val scan = new JsonScan(bytes, from, until)
        if (scan.next() >= 0) {
          val begin = scan.at
          if (!keepMalformed) {
            value(scan, spans.size)
            if (scan.next() >= 0)
              throw new Refused(Refusal.malformed("a line holds more than one value", Some(spans.size), Some(scan.at)))
          }
          spans.add(begin, until)
        }
      }
      spans.packed(bytes)
    }
  }

  /** `application/json`: each element of an array is a record; any other value is one record. An empty body is malformed. */
  case object Json extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      orWhole(bytes, length, limits, keepMalformed) {
        val scan = new JsonScan(bytes, beginOf(bytes, length), length)
        val spans = new RecordSpans(limits)
        if (scan.next() == '[') elements(scan, spans)
        else record(scan, spans)
        if (scan.next() >= 0)
          throw new Refused(Refusal.malformed("something follows the JSON value", None, Some(scan.at)))
        spans.packed(bytes)
      }

    private def elements(scan: JsonScan, spans: RecordSpans): Unit = {
      var more = scan.pass() != ']'
      while (more) {
        record(scan, spans)
        scan.next() match {
          case ',' => scan.pass(): Unit
          case ']' => more = false
          case _ =>
            val problem = "neither a comma nor the end of the array follows"
            throw new Refused(Refusal.malformed(problem, Some(spans.size - 1), Some(scan.at)))
        }
      }
      scan.at += 1
    }

    private def record(scan: JsonScan, spans: RecordSpans): Unit = {
      val from = scan.at
      value(scan, spans.size)
      spans.add(from, scan.at)
    }
  }

  /** `application/x-www-form-urlencoded`: one record, see [[FormRecord]]. */
  case object Form extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      orWhole(bytes, length, limits, keepMalformed) {
        val record = FormRecord(bytes, length)
        RecordSpans.whole(record, record.length, limits)
      }
  }

  /** The accepted content types, for error messages. */
  val Accepted: Seq[String] =
    Seq("text/plain", "application/x-ndjson", "application/json", "application/x-www-form-urlencoded")

  /** @return
    *   None: an unsupported type, or a charset other than UTF-8
    */
  def of(contentType: Option[String]): Option[BodyFormat] = {
    val parts = contentType.getOrElse("").toLowerCase(Locale.ROOT).split(';').map(_.trim)
    val charset = parts.drop(1).collectFirst { case s"charset=$name" => name.replace("\"", "").trim }
    val format = parts.headOption.getOrElse("") match {
      case "text/plain"                                                                   => Some(Lines)
      case "application/x-ndjson" | "application/ndjson" | "application/jsonl"            => Some(Ndjson)
      case "application/x-www-form-urlencoded"                                            => Some(Form)
      case name if name == "application/json" || name.matches("application/[^/]+[+]json") => Some(Json)
      case _                                                                              => None
    }
    format.filter(_ => charset.forall(Set("utf-8", "utf8", "us-ascii")))
  }

  /** Skips a JSON value. Falls back to Jackson for a value that the scan cannot decide: an unusual or malformed one.
    *
    * @throws JsonProcessingException
    *   no valid value follows
    */
  private[body] def pass(scan: JsonScan): Unit = {
    val from = scan.at
    if (!scan.value())
      Using.resource(Jackson.factory.createParser(scan.bytes, from, scan.until - from)) { parser =>
        if (parser.nextToken() == null) throw new NoValue(parser)
        parser.skipChildren(): Unit
        parser.finishToken()
        scan.at = from + parser.currentLocation.getByteOffset.toInt
      }
  }

  private def value(scan: JsonScan, record: Int): Unit = {
    val from = scan.at
    try pass(scan)
    catch {
      case e: JsonProcessingException =>
        val place = Option(e.getLocation).map(_.getByteOffset).filter(_ >= 0).getOrElse(0L)
        val problem = String.valueOf(e.getOriginalMessage).take(MaxProblem)
        throw new Refused(
          Refusal.malformed(s"the record is not JSON: $problem", Some(record), Some(from + place.toInt)))
    }
  }

  /** Calls `line` with the bounds of each line, without `\n` or `\r\n`, which the last line may lack. */
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

  /** Index of the first byte after a byte order mark, if any. */
  private def beginOf(bytes: Array[Byte], length: Int): Int =
    if (length >= 3 && bytes(0) == 0xef.toByte && bytes(1) == 0xbb.toByte && bytes(2) == 0xbf.toByte) 3 else 0

  private def orWhole(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean)(
      split: => SplitBody): SplitBody =
    try split
    catch {
      case refused: Refused if keepMalformed && refused.refusal.reason == Refusal.Malformed =>
        RecordSpans.whole(bytes, length, limits)
    }

  private val MaxProblem = 300

  final private class NoValue(parser: JsonParser)
      extends JsonProcessingException("there is no value", parser.currentLocation)
}
