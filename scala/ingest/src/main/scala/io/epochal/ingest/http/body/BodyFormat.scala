package io.epochal.ingest.http.body

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.util.Locale

import scala.collection.mutable
import scala.collection.mutable.ArrayBuilder
import scala.util.Using

import com.fasterxml.jackson.core.{JsonParseException, JsonProcessingException}
import com.fasterxml.jackson.databind.node.JsonNodeFactory

import io.epochal.kit.json.{Json => Jackson, JsonScan}

/** Splits a body into records, by its `Content-Type`. Records are not parsed: they keep the bytes that were sent. */
sealed private[http] trait BodyFormat {

  /** Splits a body.
    *
    * @param length
    *   of the body, which begins at index 0
    * @param keepMalformed
    *   whether to keep malformed input: single lines of NDJSON; other bodies whole, as one record
    * @throws Refusal
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
        throw Refusal.malformed("the text is not UTF-8", Some(line), Some(scan.at))
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
              throw Refusal.malformed("a line holds more than one value", Some(spans.size), Some(scan.at))
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
          throw Refusal.malformed("something follows the JSON value", None, Some(scan.at))
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
            throw Refusal.malformed(problem, Some(spans.size - 1), Some(scan.at))
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

  /** `application/x-www-form-urlencoded`, as some webhooks send it: one record.
    *
    * If `payload` is the only field and its value is JSON, that value is the record. Otherwise the record is a JSON object of the
    * fields in the order of their first appearance; a repeated field is an array of strings, any other a string.
    */
  case object Form extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      orWhole(bytes, length, limits, keepMalformed) {
        val fields = mutable.LinkedHashMap.empty[String, Vector[Array[Byte]]]
        Field.findAllMatchIn(new String(bytes, 0, length, ISO_8859_1)).foreach { field =>
          val name = new String(decoded(field.group(1), field.start(1)), UTF_8)
          fields(name) = fields.getOrElse(name, Vector.empty) :+ decoded(field.group(2), field.start(2))
          if (fields.size > MaxFields || fields(name).size > MaxFields)
            throw Refusal.tooLarge(s"the form has more than $MaxFields fields", Some(0), Some(field.start))
        }
        if (fields.isEmpty) throw Refusal.malformed("the form has no fields", Some(0), Some(0))
        val payload = fields.get("payload").collect { case Vector(one) if fields.sizeIs == 1 && isJson(one) => one }
        val record = payload.getOrElse(json(fields))
        RecordSpans.whole(record, record.length, limits)
      }

    private def isJson(bytes: Array[Byte]): Boolean = {
      val scan = new JsonScan(bytes, 0, bytes.length)
      try {
        pass(scan)
        scan.next() < 0
      } catch { case _: JsonProcessingException => false }
    }

    private def json(fields: collection.Map[String, Vector[Array[Byte]]]): Array[Byte] = {
      val record = JsonNodeFactory.instance.objectNode()
      fields.foreach { case (name, values) =>
        val texts = values.map(new String(_, UTF_8))
        if (texts.sizeIs == 1) record.put(name, texts.head)
        else texts.foldLeft(record.putArray(name))(_.add(_))
      }
      record.toString.getBytes(UTF_8)
    }

    /** Decodes percent encoding and checks that the result is UTF-8. */
    private def decoded(text: String, from: Int): Array[Byte] = {
      BrokenEscape.findFirstMatchIn(text).foreach { broken =>
        throw Refusal.malformed("the percent encoding is wrong", Some(0), Some(from + broken.start))
      }
      val found = URLDecoder.decode(text, ISO_8859_1).getBytes(ISO_8859_1)
      if (!new JsonScan(found, 0, found.length).text())
        throw Refusal.malformed("a field is not UTF-8", Some(0), Some(from))
      found
    }

    private val Field = "(?=[^&])([^&=]*)=?([^&]*)".r
    private val BrokenEscape = "%(?![0-9a-fA-F]{2})".r
    private val MaxFields = 1000
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
  private def pass(scan: JsonScan): Unit = {
    val from = scan.at
    if (!scan.value())
      Using.resource(Jackson.factory.createParser(scan.bytes, from, scan.until - from)) { parser =>
        if (parser.nextToken() == null) throw new JsonParseException(parser, "there is no value")
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
        throw Refusal.malformed(s"the record is not JSON: $problem", Some(record), Some(from + place.toInt))
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
      case Refusal(_, Refusal.Malformed, _, _, _, _, _) if keepMalformed => RecordSpans.whole(bytes, length, limits)
    }

  private val MaxProblem = 300
}

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
  private val starts, ends = new ArrayBuilder.ofInt
  private var count = 0
  private var bytesOfAll = 0

  def size: Int = count

  /** @throws Refusal
    *   the record is too large, or there are too many
    */
  def add(from: Int, until: Int): Unit = {
    def refused(error: String) = Refusal.tooLarge(error, Some(count), Some(from))
    if (until - from > limits.maxRecordBytes) throw refused(s"a record is larger than ${limits.maxRecordBytes} bytes")
    if (count == limits.maxRecords) throw refused(s"the request has more than ${limits.maxRecords} records")
    starts += from
    ends += until
    count += 1
    bytesOfAll += until - from
  }

  /** Copies the records without the bytes between them. */
  def packed(bytes: Array[Byte]): SplitBody = {
    val (from, until) = (starts.result(), ends.result())
    val packed = new Array[Byte](bytesOfAll)
    var at = 0
    var i = 0
    while (i < count) {
      val length = until(i) - from(i)
      System.arraycopy(bytes, from(i), packed, at, length)
      at += length
      until(i) = at
      i += 1
    }
    SplitBody(packed, until)
  }
}

private[body] object RecordSpans {

  /** All bytes as one record. */
  def whole(bytes: Array[Byte], length: Int, limits: RecordLimits): SplitBody = {
    val spans = new RecordSpans(limits)
    spans.add(0, length)
    spans.packed(bytes)
  }
}
