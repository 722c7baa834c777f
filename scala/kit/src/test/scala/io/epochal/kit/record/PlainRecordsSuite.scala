package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8
import java.time.{LocalDate, LocalDateTime, ZoneOffset}
import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.kit.json.JsonScan
import io.epochal.kit.spark.PlainTime
import io.epochal.rest.http.Bodies
import io.epochal.support.Examples

/** Records parsed from their bytes equal those of Jackson and Spark's parser, also for invalid JSON. */
final class PlainRecordsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = Examples.of(4000, small = 100), sizeRange = 30)

  private val place = "http://h/c"

  private val schema = StructType.fromDDL(
    "a STRING, b INT, c BIGINT, d DOUBLE, e BOOLEAN, f DATE, g TIMESTAMP, h DECIMAL(10,2), `i ü` ARRAY<INT>, j FLOAT, " +
      "k STRUCT<x: STRING>, `l\\` STRING, m VARIANT, n SMALLINT")
  private val rows =
    new RecordColumns(RecordReading(schema, "Asia/Tokyo"), RecordRules(RecordFormat.Json("")))

  private val character: Gen[String] = Gen.frequency(
    20 -> Gen.alphaNumChar.map(_.toString),
    3 -> Gen.oneOf(" ", "/", "{", "}", "[", "]", ",", ":", "é", "漢", "😀", "\u2028", "\u007f", "\uFEFF"),
    3 -> Gen.oneOf("\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\u6f22", "\\ud83d\\ude00", "\\u0000", "\\b\\f\\r\\t"),
    1 -> Gen.oneOf("\\ud83d", "\\ude00", "\\ud83d\\u0041", "\\x", "\\u12g4", "\n", "\u0001", "\\")
  )
  private val text: Gen[String] = Gen.listOf(character).map(_.mkString("\"", "", "\""))

  private val number: Gen[String] = Gen.oneOf(
    Gen.long.map(_.toString),
    Gen.choose(-100000, 100000).map(_.toString),
    Gen.double.map(_.toString),
    Gen.choose(-1e9, 1e9).map(value => "%.3f".formatLocal(Locale.ROOT, value)),
    for {
      whole <- Gen.long; decimals <- Gen.numStr; power <- Gen.choose(-330, 320)
    } yield s"$whole.${decimals}e$power",
    for { digits <- Gen.choose(1, 40); decimals <- Gen.choose(1, 40) } yield s"${"9" * digits}.${"7" * decimals}",
    Gen.oneOf(
      "0",
      "-0",
      "0.0",
      "-0.0",
      "-0e5",
      "1E+2",
      "1e-2",
      "9007199254740993",
      "9007199254740993.0",
      "2147483648",
      "-2147483649",
      "9223372036854775807",
      "9223372036854775808",
      "123456789012345678901",
      "1e400",
      "99e777777777",
      "9e-99999999",
      "0.1",
      "4.35",
      "01",
      "1.",
      ".5",
      "-",
      "+1",
      "1e",
      "NaN",
      "-Infinity",
      "0x1",
      "1_0")
  )

  private val moment: Gen[String] = for {
    year <- Gen.frequency(9 -> Gen.choose(1900, 2100), 1 -> Gen.choose(0, 9999))
    month <- Gen.frequency(9 -> Gen.choose(1, 12), 1 -> Gen.choose(0, 13))
    day <- Gen.frequency(9 -> Gen.choose(1, 31), 1 -> Gen.choose(0, 32))
    hour <- Gen.frequency(9 -> Gen.choose(0, 23), 1 -> Gen.choose(0, 25))
    second <- Gen.frequency(9 -> Gen.choose(0, 59), 1 -> Gen.choose(0, 61))
    separator <- Gen.frequency(9 -> Gen.const("T"), 1 -> Gen.oneOf(" ", "t", ""))
    decimals <- Gen.frequency(
      3 -> Gen.const(""),
      3 -> Gen.numStr.map(n => s".${n.take(9)}"),
      1 -> Gen.oneOf(".x", ",5"))
    zone <- Gen.frequency(9 -> Gen.const("Z"), 3 -> Gen.oneOf("", "z", "+02:00", "-11", " UTC", "[UTC]"))
  } yield "\"%04d-%02d-%02d%s%02d:30:%02d%s%s\"".formatLocal(
    Locale.ROOT,
    year,
    month,
    day,
    separator,
    hour,
    second,
    decimals,
    zone)

  private val day: Gen[String] = moment.map(moment => moment.take(11) + "\"")

  private val scalar: Gen[String] = Gen.frequency(
    6 -> text,
    6 -> number,
    2 -> Gen.oneOf("true", "false", "null", "nul", "True"),
    2 -> moment,
    1 -> day
  )

  private def value(depth: Int): Gen[String] =
    if (depth == 0) scalar
    else
      Gen.frequency(
        8 -> scalar,
        1 -> Gen.lzy(Gen.listOf(value(depth - 1)).map(_.take(4).mkString("[", " ,", "]"))),
        1 -> Gen.lzy(Gen.listOf(field(depth - 1)).map(_.take(4).mkString("{ ", ",", "}")))
      )

  private val fitting: Map[String, Gen[String]] = Map(
    "a" -> text,
    "b" -> Gen.choose(Int.MinValue, Int.MaxValue).map(_.toString),
    "c" -> Gen.long.map(_.toString),
    "d" -> number,
    "e" -> Gen.oneOf("true", "false"),
    "f" -> day,
    "g" -> moment,
    "h" -> number,
    "i ü" -> Gen.listOf(Gen.choose(-9, 9)).map(_.mkString("[", ", ", "]")),
    "j" -> number,
    "k" -> text.map(inner => s"""{"x":$inner,"y":[]}"""),
    "l\\\\" -> text,
    "l\\" -> text,
    "m" -> value(2),
    "n" -> number
  )

  private def field(depth: Int): Gen[String] = for {
    name <- Gen.frequency(
      9 -> Gen.oneOf(fitting.keys.toSeq),
      2 -> Gen.oneOf("x", "", "\\u0061", "a ", "é", "A"),
      1 -> text.map(_.drop(1).dropRight(1)))
    found <- Gen.frequency(12 -> fitting.getOrElse(name, value(depth)), 1 -> value(depth), 1 -> Gen.const("null"))
    colon <- Gen.frequency(9 -> Gen.const(":"), 1 -> Gen.oneOf(" : ", ":\n\t"))
  } yield s""""$name"$colon$found"""

  private val record: Gen[String] = Gen.frequency(
    20 -> Gen.listOf(field(2)).map(_.take(6).mkString("{", ",", "}")),
    1 -> value(2),
    1 -> Gen.choose(60, 70).map(deep => s"""{"a":${"[" * deep}${"]" * deep}}"""))

  private val response: Gen[String] = for {
    records <- Gen.listOf(record)
    comma <- Gen.oneOf(",", " , ", ",\r\n")
    rest <- Gen.oneOf("", ",\"total\":7", ",\"data\":[1]", ",", "x")
  } yield records.take(5).mkString("{\"n\":[0],\"data\":[ ", comma, s"]$rest}")

  /** As an API sends it, or with one byte wrong, added or missing. */
  private val bytes: Gen[Array[Byte]] = for {
    whole <- response.map(_.getBytes(UTF_8))
    at <- Gen.choose(0, whole.length - 1)
    other <- Gen.oneOf(Gen.choose(-128, 127).map(_.toByte), Gen.oneOf("\"\\{}[],:0e. ".getBytes.toSeq))
    sent <- Gen.frequency(
      4 -> Gen.const(whole),
      1 -> Gen.const(whole.updated(at, other)),
      1 -> Gen.const(whole.take(at)),
      1 -> Gen.const(whole.patch(at, Seq(other), 0)),
      1 -> Gen.const(whole.patch(at, Nil, 1)))
  } yield sent

  private def shown(row: InternalRow): Seq[Any] = row.toSeq(schema).map {
    case text: UTF8String => text.getBytes.toSeq
    case other            => String.valueOf(other)
  }

  /** Rows and bytes of the records, up to the first that gives none. */
  private def read(open: => Records): Seq[Any] = {
    val found = Seq.newBuilder[Any]
    try {
      val records = open
      while (records.next()) {
        found += shown(records.row(rows))
        found += records.bytes.toSeq
      }
      records.finish()
      found += "whole"
    } catch { case NonFatal(_) => found += "broken" }
    found.result()
  }

  test("rows equal those of Jackson and Spark's parser, for any text") {
    forAll(bytes) { sent =>
      // A body in no encoding is refused.
      def page = Bodies.of(sent).piece
      assert(
        read(new JsonRecords(page, RecordFormat.Json("/data"), place)) ==
          read(new TokenRecords(page, RecordFormat.Json("/data"), place)),
        new String(sent, UTF_8))
    }
  }

  test("records are skipped as Jackson skips them, for any text") {
    forAll(bytes, Gen.choose(0L, 4L)) { (sent, skip) =>
      def page = Bodies.of(sent).piece
      def passed(open: => Records): Seq[Any] =
        try {
          val records = open
          val passed = records.skip(skip)
          val more = records.next()
          if (more) records.pass()
          records.finish()
          Seq(passed, more)
        } catch { case NonFatal(_) => Seq("broken") }
      val byTokens = passed(new TokenRecords(page, RecordFormat.Json("/data"), place))
      val byBytes = passed(new JsonRecords(page, RecordFormat.Json("/data"), place))
      assert(byBytes == byTokens, new String(sent, UTF_8))
    }
  }

  test("plain JSON never falls back to Jackson") {
    val plain = "{\"a\":\"é😀\\n\\u00e9\\ud83d\\ude00\"," +
      """"b":-7,"c":123456789012345678,"d":1.25,"e":true,"f":"2024-02-29", """ +
      """"g" : "2024-02-29T23:59:59.123456Z" , "x":{"y":[1,[],{}, null]},"k":{"x":"1"},"i ü":[1],"h":1.5,"a":null}"""
    val scan = new JsonScan(plain.getBytes(UTF_8), 0, plain.getBytes(UTF_8).length)
    val row = rows.json.row(scan)
    assert(row != null && scan.next() == -1)
    assert(
      shown(row)
        .patch(8, Nil, 5)
        .drop(1) == Seq("-7", "123456789012345678", "1.25", "true", "19782", "1709251199123456", "1.50", "null"))
  }

  test("dates and timestamps equal those of java.time") {
    var day = LocalDate.of(1, 1, 1)
    while (day.getYear <= 9999) {
      val text = day.toString.getBytes
      if (PlainTime.day(text, 0) != day.toEpochDay) fail(s"$day is ${PlainTime.day(text, 0)}")
      // The calendar repeats after 400 years.
      day = if (day.getYear == 401) day.withYear(9600) else day.plusDays(1)
    }
    forAll(Gen.choose(-62135596800L, 253402300799L), Gen.choose(0, 999999)) { (second, micros) =>
      val moment = LocalDateTime.ofEpochSecond(second, micros * 1000, ZoneOffset.UTC)
      val text =
        "%sT%02d:%02d:%02d.%06dZ".formatLocal(
          Locale.ROOT,
          moment.toLocalDate,
          moment.getHour,
          moment.getMinute,
          moment.getSecond,
          micros)
      assert(PlainTime.micros(text.getBytes, 0, text.length) == second * 1000000 + micros, text)
    }
  }
}
