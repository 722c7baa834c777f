package io.epochal.spark.source.rest

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.types.StructType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.spark.http.{BodyBuffer, Endpoint}
import io.epochal.spark.seam.JsonRows

/** Records in the bytes of an answer, and the rows that they make. */
final class RecordCursorSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val endpoint = Endpoint.of("http://h/c", Nil, Nil).fold(fail(_), identity)

  private def buffer(json: String): BodyBuffer = {
    val page = new BodyBuffer
    assert(page.readFrom(new ByteArrayInputStream(json.getBytes(UTF_8)), 1L << 30))
    page
  }

  private def count(json: String, pointer: String = ""): Long = RecordCursor.count(buffer(json), pointer, endpoint)

  private def notFound(json: String, pointer: String): String =
    intercept[EpochalException](count(json, pointer)).getMessage

  test("records are found where the pointer says") {
    assert(count("""[{"a":1},{"a":[2,{"b":[]}]},3]""") == 3)
    assert(count("[]") == 0)
    assert(count("""{"x":{"data":[9]},"data":{"y":[1],"items":[{},{}]},"total":2}""", "/data/items") == 2)
    assert(count("""{"a/b":{"m~n":[{}]}}""", "/a~1b/m~0n") == 1)
    assert(count("""[{"skip":[1,2]},{"items":[1,2,3]}]""", "/1/items") == 3)
    assert(count("""{"":[1]}""", "/") == 1)
    assert(count("\uFEFF[{}]") == 1)
  }

  test("where there is no array, the error says what is there instead") {
    assert(notFound("""{"data":[],"total":0}""", "").contains("has no array at '', but an object with data, total."))
    assert(notFound("""{"items":[],"total":0}""", "/data").contains("but an object with items, total."))
    assert(notFound("""{"data":"none"}""", "/data").contains("but a string."))
    assert(notFound("""{"data":null}""", "/data").contains("but null."))
    assert(notFound("""[[]]""", "/3").contains("but an array of 1."))
  }

  test("bodies that are no JSON are told from those that are") {
    Seq("<html>", """[{"a":1},""", """[{"a":1}""", """{"data":[1]""", "[1] x", "nope").foreach { text =>
      intercept[JsonProcessingException](count(text, if (text.startsWith("{")) "/data" else ""))
    }
  }

  test("skipping passes over as many records as there are, and stays at the end") {
    forAll(Gen.choose(0, 20), Gen.choose(0L, 30L)) { (records, n) =>
      val cursor = new RecordCursor(buffer(List.fill(records)("""{"a":[1]}""").mkString("[", ",", "]")), "", endpoint)
      assert(cursor.skip(n) == math.min(n, records.toLong))
      assert(cursor.next() == (n < records))
      if (n >= records) assert(!cursor.next())
    }
  }

  test("a buffer takes what is allowed, and not a byte more") {
    forAll(Gen.choose(0, 300000), Gen.choose(0, 300000)) { (size, limit) =>
      val page = new BodyBuffer
      val in = new ByteArrayInputStream(new Array[Byte](size))
      assert(page.readFrom(in, limit.toLong) == (size <= limit))
      assert(page.length == math.min(size, limit + 1))
      assert(size - in.available() <= limit + 1)
    }
  }

  /** Each row as its values with bars between them. */
  private def rows(ddl: String, json: String): Seq[String] = {
    val schema = StructType.fromDDL(ddl)
    val reader = new JsonRows(schema, "UTC")
    val cursor = new RecordCursor(buffer(json), "", endpoint)
    Iterator.continually(cursor).takeWhile(_.next()).map(c => reader.row(c.parser).toSeq(schema).mkString("|")).toVector
  }

  test(
    "fields are taken by name in any order; unknown ones are passed over, the missing are NULL, of two the last counts") {
    assert(
      rows(
        "id INT, name STRING",
        """[{"id":1,"name":"a"},{"name":"b","x":{"y":[1]},"id":2},{"id":3},{"id":4,"id":5}]"""
      ) == Seq("1|a", "2|b", "3|null", "5|null"))
  }

  test("values are those of Spark's own JSON reader") {
    assert(
      rows(
        "a STRING, b TIMESTAMP, c DECIMAL(5,1), d DOUBLE, e DATE",
        """[{"a":{"x": [1]},"b":"2026-01-01T00:00:00Z","c":"1.25","d":1,"e":"1970-01-03"},{"a":"u\n"}]"""
      ) == Seq("""{"x": [1]}|1767225600000000|1.3|1.0|2""", "u\n|null|null|null|null"))
  }

  test("what does not fit is refused, and Spark says why") {
    val reader = new JsonRows(StructType.fromDDL("id INT, name STRING"), "UTC")
    Seq(
      """{"id":"x"}""" -> "id",
      """{"id":1.5}""" -> "id",
      """{"id":99999999999}""" -> "99999999999",
      """{"id":""}""" -> "INT")
      .foreach { case (record, word) =>
        val page = buffer(s"[$record]")
        val cursor = new RecordCursor(page, "", endpoint)
        assert(cursor.next())
        intercept[Exception](reader.row(cursor.parser))
        assert(
          reader.reason(page.bytes, 1, page.length).exists(_.contains(word)),
          reader.reason(page.bytes, 1, page.length))
      }
  }
}
