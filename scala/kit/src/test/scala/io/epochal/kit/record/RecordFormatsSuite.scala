package io.epochal.kit.record

import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.types.StructType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.rest.http.Bodies

/** NDJSON and CSV in the bytes of a response. */
final class RecordFormatsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val place = "http://h/c"
  private val strict = RecordFormat.Ndjson(tolerant = false)
  private val tolerant = RecordFormat.Ndjson(tolerant = true)
  private val csv = RecordFormat.Csv(header = true, ',', None)

  private def count(format: RecordFormat, text: String): Long = format.count(Bodies.of(text), place)

  private def columns(format: RecordFormat, ddl: String, unknown: Option[String]): RecordColumns =
    new RecordColumns(
      RecordReading(StructType.fromDDL(ddl), "UTC"),
      RecordRules(format, RecordMode.Permissive("bad"), unknown, Nil))

  /** Each record's values with bars between them, or why it gives none, and its bytes. */
  private def read(
      format: RecordFormat,
      ddl: String,
      text: String,
      unknown: Option[String] = None): Seq[(String, String)] = {
    val rows = columns(format, ddl, unknown)
    val records = format.open(Bodies.of(text), place)
    Iterator
      .continually(records)
      .takeWhile(_.next())
      .map { record =>
        val found =
          try record.row(rows).toSeq(StructType.fromDDL(ddl)).map(String.valueOf(_)).mkString("|")
          catch {
            case error: EpochalException => throw error
            case _: Exception            => record.examine(rows).reason.getOrElse("?")
          }
        (found, new String(record.bytes, UTF_8))
      }
      .toVector
  }

  test("NDJSON has a record per line, with any line end and empty lines, and none in an empty body") {
    val lines = Seq("""{"id":1,"name":"a"}""", """{"id":2,"name":{"x": [1]}}""", """{}""")
    Seq(lines.mkString("\n"), lines.mkString("", "\r\n", "\r\n"), lines.mkString("\n\n", "\n \n", "\n\n")).foreach {
      text =>
        Seq(strict, tolerant).foreach { format =>
          assert(
            read(format, "id INT, name STRING", text) ==
              Seq("1|a" -> lines(0), """2|{"x": [1]}""" -> lines(1), "null|null" -> lines(2)))
          assert(count(format, text) == 3)
        }
    }
    assert(count(strict, "") == 0 && count(tolerant, "\n") == 0)
  }

  test("a line that is not JSON is an error of the response, or, if tolerated, a record that does not fit") {
    val lines =
      Seq("""{"id":1}""", """{"id":2,}""", "nope", """{"id":"x"}""", """{"id":[}""", """[5]""", "7 8", """{"id":3}""")
    val text = lines.mkString("", "\n", "\n")
    intercept[JsonProcessingException](count(strict, text))
    val misfit = "the column 'id' is INT, and the record has a string there that does not fit"
    assert(count(tolerant, text) == 8)
    assert(
      read(tolerant, "id INT", text) == Seq(
        "1",
        "it is not JSON",
        "it is not JSON",
        misfit,
        "it is not JSON",
        "it is an array, not an object",
        "it is not JSON",
        "3").zip(lines))
  }

  test("bad lines are records wherever they occur, and lines are counted alike") {
    val pieces = Seq("""{"id":1}""", """{"id":"x"}""", """{"id":2}}""", """{"id":2""", "nope", "\"a", "}", "7", "")
    forAll(Gen.listOf(Gen.oneOf(pieces)).suchThat(_.forall(pieces.contains))) { lines =>
      val text = lines.mkString("", "\n", "\n")
      assert(read(tolerant, "id INT", text).map(_._2) == lines.filter(_.nonEmpty))
      assert(count(tolerant, text) == lines.count(_.nonEmpty))
    }
  }

  test("a truncated last line, an HTML page and a JSON array are not NDJSON, and give no record") {
    Seq(strict, tolerant).foreach { format =>
      Seq("{\"id\":1}\n{\"id\":", "<html>busy</html>", "  [{\"id\":1}]").foreach { text =>
        intercept[JsonProcessingException](count(format, text))
      }
    }
  }

  test("CSV fields match the header's names, in any order, with quotes, line breaks, and NULL for empty fields") {
    val text = "name,extra,id\r\n\"a,\"\"b\"\"\nc\",x,1\r\n,y,2\r\n\"\",,\n"
    assert(
      read(csv, "id INT, name STRING, r STRING", text, Some("r"))
        .map(_._1) == Seq("1|a,\"b\"\nc|{\"extra\":\"x\"}", "2|null|{\"extra\":\"y\"}", "null||{\"extra\":null}"))
    assert(count(csv, text) == 3 && count(csv, "") == 0 && count(csv, "id,name\n") == 0)
    assert(read(csv, "id INT", "\uFEFFid\n1").map(_._1) == Seq("1"))
  }

  test("CSV without a header has the columns in order, with the given separator and NULL text") {
    val format = RecordFormat.Csv(header = false, ';', Some("NA"))
    assert(
      read(format, "id INT, at DATE, name STRING", "1;2026-01-02;a,b\nNA;NA;\"NA\"")
        .map(_._1) == Seq("1|20455|a,b", "null|null|NA"))
  }

  test("a CSV line that does not fit is reported with its column and type, without its values") {
    val text = "id,name\nhunter2,a\n1\n2,b,c\n\"3\"x,d\n4,e"
    assert(
      read(csv, "id INT, name STRING", text) == Seq(
        "the column 'id' is INT, and the record has a text there that does not fit" -> "hunter2,a",
        "it has 1 field, not 2" -> "1",
        "it has 3 fields, not 2" -> "2,b,c",
        "a quoted field is followed by more text" -> "\"3\"x,d",
        "4|e" -> "4,e"
      ))
  }

  test("a header that lacks a column, or has it twice, is rejected with the name") {
    def refusal(text: String): EpochalException = intercept[EpochalException](read(csv, "id INT", text))
    assert(refusal("ID,name\n1,a").getMessage.contains("has no column 'id'; its columns are ID, name"))
    assert(refusal("id,id\n1,2").getMessage.contains("has the column 'id' twice"))
    assert(refusal("x\n1").condition.name == "CSV_HEADER_MISMATCH")
  }

  test("a quoted field without an end, and an HTML page, are not CSV") {
    Seq("id\n\"1\n2\n", " <html></html>").foreach(text => intercept[JsonProcessingException](count(csv, text)))
  }

  test("any texts round-trip through CSV") {
    val texts = Gen.listOfN(3, Gen.oneOf(Gen.alphaNumStr, Gen.oneOf("a,b", "\"", "x\"\"y", "line\r\nbreak", "ü", " ")))
    forAll(Gen.listOf(texts)) { lines =>
      val text = ("a,b,c" +: lines.map(_.map(t => s"\"${t.replace("\"", "\"\"")}\"").mkString(","))).mkString("\n")
      assert(read(csv, "a STRING, b STRING, c STRING", text).map(_._1) == lines.map(_.mkString("|")))
    }
  }
}
