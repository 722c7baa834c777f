package io.epochal.ingest.http.body

import java.net.URLDecoder
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.charset.{CharacterCodingException, Charset}
import java.util.Locale

import scala.collection.mutable
import scala.collection.mutable.ArrayBuilder
import scala.util.Using

import com.fasterxml.jackson.core.{JsonParseException, JsonProcessingException}
import com.fasterxml.jackson.databind.node.JsonNodeFactory

import io.epochal.kit.json.{Json => Jackson, JsonScan}

/** Splits a body into records, by its `Content-Type`. Records are not parsed: they keep the bytes that were sent, in UTF-8. */
sealed private[http] trait BodyFormat {

  /** Splits a body.
    *
    * @param length
    *   of the body, which begins at index 0
    * @param keepMalformed
    *   whether to keep malformed input: single lines of NDJSON; other bodies whole, as one record
    * @throws Problem
    *   the body is malformed, or exceeds a limit
    */
  def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody

  /** Whether the bytes must be converted into UTF-8 before. */
  def isText: Boolean = true
}

private[http] object BodyFormat {

  /** `text/plain`: each line is a record.
    *
    * @param blanks
    *   whether an empty line is one
    */
  final case class Lines(blanks: Boolean = true) extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody = {
      val begin = beginOf(bytes, length)
      val spans = new RecordSpans(limits)
      eachLine(bytes, begin, length)((from, until) => if (blanks || until > from) spans.add(from, until))
      val scan = new JsonScan(bytes, begin, length)
      if (!keepMalformed && !scan.text()) {
        val line = (begin until scan.at).count(bytes(_) == '\n')
        throw Problem.malformed("the text is not UTF-8", Some(line), Some(scan.at))
      }
      spans.pack(bytes)
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
              throw Problem.malformed("a line holds more than one value", Some(spans.size), Some(scan.at))
          }
          spans.add(begin, until)
        }
      }
      spans.pack(bytes)
    }
  }

  /** `application/json`: each element of an array is a record; any other value is one record. An empty body is malformed. */
  case object Json extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      orWhole(bytes, length, limits, keepMalformed) {
        val scan = new JsonScan(bytes, beginOf(bytes, length), length)
        val spans = new RecordSpans(limits)
        if (scan.next() == '[') elements(scan, spans) else record(scan, spans)
        if (scan.next() >= 0) throw Problem.malformed("something follows the JSON value", None, Some(scan.at))
        spans.pack(bytes)
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
            throw Problem.malformed(problem, Some(spans.size - 1), Some(scan.at))
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

  /** `text/plain` where records are JSON: one JSON document, as some webhooks send it, or one on each line. */
  case object JsonText extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody = {
      val format = if (isJson(bytes, beginOf(bytes, length), length)) Json else Lines(blanks = false)
      format.split(bytes, length, limits, keepMalformed)
    }
  }

  /** Refuses bodies without any JSON object, whose records would all be corrupt. */
  final case class Objects(format: BodyFormat) extends BodyFormat {
    override def isText: Boolean = format.isText

    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody = {
      val body = format.split(bytes, length, limits, keepMalformed)
      if (!keepMalformed && body.records > 0 && !body.ends.indices.exists(isObject(body, _)))
        throw Problem.malformed("none of its records is a JSON object", Some(0), None)
      body
    }

    private def isObject(body: SplitBody, record: Int): Boolean = {
      val from = if (record == 0) 0 else body.ends(record - 1)
      val until = body.ends(record)
      new JsonScan(body.bytes, from, until).next() == '{' && isJson(body.bytes, from, until)
    }
  }

  /** `application/x-www-form-urlencoded`, as some webhooks send it: one record.
    *
    * If `payload` is the only field and its value is JSON, that value is the record. Otherwise the record is a JSON object of the
    * fields in the order of their first appearance; a repeated field is an array of strings, any other a string.
    *
    * @param charset
    *   of the fields
    */
  final case class Form(charset: Charset = UTF_8) extends BodyFormat {
    override def isText: Boolean = false

    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      orWhole(bytes, length, limits, keepMalformed) {
        val fields = mutable.LinkedHashMap.empty[String, Vector[String]]
        Field.findAllMatchIn(new String(bytes, 0, length, ISO_8859_1)).foreach { field =>
          val name = decode(field.group(1), field.start(1))
          fields(name) = fields.getOrElse(name, Vector.empty) :+ decode(field.group(2), field.start(2))
          if (fields.size > MaxFields || fields(name).size > MaxFields)
            throw Problem.tooLarge(s"the form has more than $MaxFields fields", Some(0), Some(field.start))
        }
        if (fields.isEmpty) throw Problem.malformed("the form has no fields", Some(0), Some(0))
        val payload = fields.get("payload").collect { case Vector(one) if fields.sizeIs == 1 => one.getBytes(UTF_8) }
        val record = payload.filter(one => isJson(one, 0, one.length)).getOrElse(json(fields))
        RecordSpans.whole(record, record.length, limits)
      }

    private def json(fields: collection.Map[String, Vector[String]]): Array[Byte] = {
      val record = JsonNodeFactory.instance.objectNode()
      fields.foreach { case (name, texts) =>
        if (texts.sizeIs == 1) record.put(name, texts.head)
        else texts.foldLeft(record.putArray(name))(_.add(_))
      }
      record.toString.getBytes(UTF_8)
    }

    /** Decodes percent encoding and the charset. */
    private def decode(text: String, from: Int): String = {
      BrokenEscape.findFirstMatchIn(text).foreach { escape =>
        throw Problem.malformed("the percent encoding is wrong", Some(0), Some(from + escape.start))
      }
      val octets = URLDecoder.decode(text, ISO_8859_1).getBytes(ISO_8859_1)
      try charset.newDecoder().decode(ByteBuffer.wrap(octets)).toString
      catch {
        case _: CharacterCodingException =>
          throw Problem.malformed(s"a field is not in ${charset.name}", Some(0), Some(from))
      }
    }

    private val Field = "(?=[^&])([^&=]*)=?([^&]*)".r
    private val BrokenEscape = "%(?![0-9a-fA-F]{2})".r
    private val MaxFields = 1000
  }

  /** The accepted content types, for error messages.
    *
    * @param records
    *   how they are parsed: text, json or csv
    */
  def contentTypes(records: String): Seq[String] =
    if (records == "csv") Seq("text/plain", "text/csv")
    else Seq("text/plain", "application/x-ndjson", "application/json", "application/x-www-form-urlencoded")

  /** The format of a body.
    *
    * @param name
    *   replaces the `Content-Type`
    * @param charset
    *   of a form
    * @return
    *   None: the type is not supported
    */
  def of(
      contentType: Option[String],
      records: String,
      name: Option[String] = None,
      charset: Option[Charset] = None): Option[BodyFormat] = {
    val kind = contentType.getOrElse("").takeWhile(_ != ';').trim.toLowerCase(Locale.ROOT)
    val format = name.getOrElse(kind) match {
      case "text/plain" if records == "json" => Some(JsonText)
      case "lines" | "text/plain"            => Some(Lines(records == "text"))
      case "text/csv" if records == "csv"    => Some(Lines(blanks = false))
      case _ if records == "csv"             => None
      case "ndjson" | "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Some(Ndjson)
      case "form" | "application/x-www-form-urlencoded" => Some(Form(charset.getOrElse(UTF_8)))
      case json if json == "json" || json == "application/json" || json.matches("application/[^/]+[+]json") =>
        Some(Json)
      case _ => None
    }
    if (records == "json") format.map(Objects(_)) else format
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

  private def isJson(bytes: Array[Byte], from: Int, until: Int): Boolean = {
    val scan = new JsonScan(bytes, from, until)
    try {
      pass(scan)
      scan.next() < 0
    } catch { case _: JsonProcessingException => false }
  }

  private def value(scan: JsonScan, record: Int): Unit = {
    val from = scan.at
    try pass(scan)
    catch {
      case e: JsonProcessingException =>
        val place = Option(e.getLocation).map(_.getByteOffset).filter(_ >= 0).getOrElse(0L)
        val problem = String.valueOf(e.getOriginalMessage).take(MaxProblem)
        throw Problem.malformed(s"the record is not JSON: $problem", Some(record), Some(from + place.toInt))
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
      case Problem(_, Problem.Malformed, _, _, _, _, _) if keepMalformed => RecordSpans.whole(bytes, length, limits)
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

final private[http] case class RecordLimits(maxRecordBytes: Int, maxRecords: Int)

/** Collects the bounds of the records of a body, in order. */
final private[body] class RecordSpans(limits: RecordLimits) {
  private val starts, ends = new ArrayBuilder.ofInt
  private var count = 0
  private var bytesOfAll = 0

  def size: Int = count

  /** @throws Problem
    *   the record is too large, or there are too many
    */
  def add(from: Int, until: Int): Unit = {
    def refusal(error: String) = Problem.tooLarge(error, Some(count), Some(from))
    if (until - from > limits.maxRecordBytes) throw refusal(s"a record is larger than ${limits.maxRecordBytes} bytes")
    if (count == limits.maxRecords) throw refusal(s"the request has more than ${limits.maxRecords} records")
    starts += from
    ends += until
    count += 1
    bytesOfAll += until - from
  }

  /** Copies the records without the bytes between them. */
  def pack(bytes: Array[Byte]): SplitBody = {
    val (from, until) = (starts.result(), ends.result())
    val out = new Array[Byte](bytesOfAll)
    var at = 0
    var i = 0
    while (i < count) {
      val length = until(i) - from(i)
      System.arraycopy(bytes, from(i), out, at, length)
      at += length
      until(i) = at
      i += 1
    }
    SplitBody(out, until)
  }
}

private[body] object RecordSpans {
  def whole(bytes: Array[Byte], length: Int, limits: RecordLimits): SplitBody = {
    val spans = new RecordSpans(limits)
    spans.add(0, length)
    spans.pack(bytes)
  }
}
