package io.epochal.kit.record

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.types.StructType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.EpochalException
import io.epochal.kit.json.Json
import io.epochal.rest.http.Bodies

/** Records in the bytes of a response, and their rows. */
final class JsonRecordsSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val place = "http://h/c"

  private def count(json: String, pointer: String = ""): Long =
    RecordFormat.Json(pointer).count(Bodies.of(json), place)

  private def notFound(json: String, pointer: String): String =
    intercept[EpochalException](count(json, pointer)).getMessage

  test("records are found at the pointer") {
    assert(count("""[{"a":1},{"a":[2,{"b":[]}]},3]""") == 3)
    assert(count("[]") == 0)
    assert(count("""{"x":{"data":[9]},"data":{"y":[1],"items":[{},{}]},"total":2}""", "/data/items") == 2)
    assert(count("""{"a/b":{"m~n":[{}]}}""", "/a~1b/m~0n") == 1)
    assert(count("""[{"skip":[1,2]},{"items":[1,2,3]}]""", "/1/items") == 3)
    assert(count("""{"":[1]}""", "/") == 1)
    assert(count("\uFEFF[{}]") == 1)
  }

  test("without an array the error names the value that is there instead") {
    assert(
      notFound("""{"data":[],"total":0}""", "").contains(
        "has no records at '': the response is an object with data, total."))
    assert(
      notFound("""{"items":[],"total":0}""", "/data").contains(
        "no records at '/data': the response is an object with items, total."))
    assert(notFound("""{"data":"none"}""", "/data").contains("'/data' is a string."))
    assert(notFound("""{"data":null}""", "/data").contains("'/data' is null."))
    assert(notFound("""[[]]""", "/3").contains("the response is an array with 1 element."))
  }

  test("invalid JSON is distinguished from valid JSON") {
    Seq("<html>", """[{"a":1},""", """[{"a":1}""", """{"data":[1]""", "[1] x", "nope").foreach { text =>
      intercept[JsonProcessingException](count(text, if (text.startsWith("{")) "/data" else ""))
    }
  }

  test("an error after the records is reported with its byte in the response") {
    val error = intercept[JsonProcessingException](count("""{"data":[{},{}],"t":x}""", "/data"))
    assert(Json.problem(error).contains("'x'") && Json.problem(error).endsWith("at byte 20"), Json.problem(error))
  }

  test("skipping skips at most the existing records, and stays at the end") {
    forAll(Gen.choose(0, 20), Gen.choose(0L, 30L)) { (records, n) =>
      val cursor =
        RecordFormat.Json("").open(Bodies.of(List.fill(records)("""{"a":[1]}""").mkString("[", ",", "]")), place)
      assert(cursor.skip(n) == math.min(n, records.toLong))
      assert(cursor.next() == (n < records))
      if (n >= records) assert(!cursor.next())
    }
  }

  test("a buffer accepts the allowed bytes, and not one more") {
    forAll(Gen.choose(0, 300000), Gen.choose(0, 300000)) { (size, limit) =>
      val page = new Body
      val in = new ByteArrayInputStream(new Array[Byte](size))
      assert(page.readFrom(in, limit.toLong) == (size <= limit))
      assert(page.length == math.min(size, limit + 1))
      assert(size - in.available() <= limit + 1)
    }
  }

  /** Each row as its values with bars between them. */
  private def rows(ddl: String, json: String): Seq[String] = {
    val schema = StructType.fromDDL(ddl)
    val reader = rowsOf(ddl)
    val cursor = new JsonRecords(Bodies.of(json).piece, RecordFormat.Json(""), place)
    Iterator.continually(cursor).takeWhile(_.next()).map(c => c.row(reader).toSeq(schema).mkString("|")).toVector
  }

  test(
    "fields match by name in any order; unknown ones are skipped, missing ones are NULL, of duplicates the last counts") {
    assert(
      rows(
        "id INT, name STRING",
        """[{"id":1,"name":"a"},{"name":"b","x":{"y":[1]},"id":2},{"id":3},{"id":4,"id":5}]"""
      ) == Seq("1|a", "2|b", "3|null", "5|null"))
  }

  test("values equal those of Spark's own JSON reader") {
    assert(
      rows(
        "a STRING, b TIMESTAMP, c DECIMAL(5,1), d DOUBLE, e DATE",
        """[{"a":{"x": [1]},"b":"2026-01-01T00:00:00Z","c":"1.25","d":1,"e":"1970-01-03"},{"a":"u\n"}]"""
      ) == Seq("""{"x": [1]}|1767225600000000|1.3|1.0|2""", "u\n|null|null|null|null"))
  }

  private def rowsOf(ddl: String, unknown: Option[String] = None) =
    new RecordColumns(
      RecordReading(StructType.fromDDL(ddl), "UTC"),
      RecordRules(RecordFormat.Json(""), unknown = unknown))

  test("a misfit is rejected with its path, its type and the kind of value found, without the value") {
    val reader = rowsOf("id INT, at DATE, tags ARRAY<STRUCT<n: INT>>, more MAP<STRING, DOUBLE>, sub STRUCT<a: BOOLEAN>")
    Seq(
      """{"id":"hunter2"}""" -> "the column 'id' is INT, and the record has a string there",
      """{"id":4711.5}""" -> "the column 'id' is INT, and the record has a number with a fraction there",
      """{"id":99999999999}""" -> "the column 'id' is INT, and the record has a whole number there",
      """{"id":""}""" -> "the column 'id' is INT, and the record has an empty string there",
      """{"id":{"hunter2":1}}""" -> "the column 'id' is INT, and the record has an object there",
      """{"at":"hunter2"}""" -> "the column 'at' is DATE, and the record has a string there",
      """{"tags":[{"n":1},{"n":"hunter2"}]}""" -> "the column 'tags.element.n' is INT, and the record has a string there",
      """{"tags":{"n":1}}""" -> "the column 'tags' is ARRAY<STRUCT<n: INT>>, and the record has an object there",
      """{"more":{"k":1,"hunter2":"hunter2"}}""" -> "the column 'more.value' is DOUBLE, and the record has a string there",
      """{"sub":{"a":[]}}""" -> "the column 'sub.a' is BOOLEAN, and the record has an array there"
    ).foreach { case (record, reason) =>
      val cursor = new JsonRecords(Bodies.of(s"[$record]").piece, RecordFormat.Json(""), place)
      assert(cursor.next())
      intercept[Exception](cursor.row(reader))
      val found = cursor.examine(reader).reason.getOrElse(fail(s"nothing wrong with $record"))
      assert(found == s"$reason that does not fit", record)
      assert(new String(cursor.bytes, UTF_8) == record)
    }
  }

  test("of a record with a misfit everything else is kept, and the next record is read") {
    val ddl = "id INT, tags ARRAY<INT>, name STRING"
    val json =
      """[{"id":1,"tags":[1,[2,{"x":3}]],"name":"a"}, 5, null, [{}], "x", {"id":2,"tags":[3],"name":{"a":[1]}}]"""
    val cursor = new JsonRecords(Bodies.of(json).piece, RecordFormat.Json(""), place)
    val reader = rowsOf(ddl)
    val found = Iterator.continually(cursor).takeWhile(_.next()).map { at =>
      val row =
        try at.row(reader)
        catch { case _: Exception => at.examine(reader).row }
      (row.toSeq(StructType.fromDDL(ddl)).map(String.valueOf(_)).mkString("|"), new String(at.bytes, UTF_8))
    }
    assert(
      found.toVector == Vector(
        """1|null|a""" -> """{"id":1,"tags":[1,[2,{"x":3}]],"name":"a"}""",
        """null|null|null""" -> "5",
        """null|null|null""" -> "null",
        """null|null|null""" -> "[{}]",
        """null|null|null""" -> "\"x\"",
        """2|[3]|{"a":[1]}""" -> """{"id":2,"tags":[3],"name":{"a":[1]}}"""
      ))
  }

  test("fields without a column are collected unchanged, if a column is set for them") {
    val reader =
      rowsOf("rest STRING, id INT", unknown = Some("rest"))
    val json =
      """[{"a\"b":1.10,"id":7,"rest":[1, {"x":null}],"é":"ü\n"},{"id":8},{"y":[1],"id":"no"},{"id":9,"z":2},{"id":"no","y":true}]"""
    val cursor = new JsonRecords(Bodies.of(json).piece, RecordFormat.Json(""), place)
    def unknownFields(): String = String.valueOf(cursor.row(reader).getUTF8String(0))
    assert(cursor.next() && unknownFields() == """{"a\"b":1.10,"rest":[1, {"x":null}],"é":"ü\n"}""")
    assert(cursor.next() && unknownFields() == "null")
    assert(cursor.next())
    intercept[Exception](cursor.row(reader))
    val _ = cursor.size
    assert(cursor.next() && unknownFields() == """{"z":2}""", "fields of an incomplete record appear in no later one")
    assert(cursor.next())
    intercept[Exception](cursor.row(reader))
    assert(cursor.examine(reader).row.getUTF8String(0).toString == """{"y":true}""")
  }

  test("bodies in UTF-16 and UTF-32, and byte order marks, are read like others") {
    val json = """[{"id":1,"name":{"ä":1}},{"id":"x"}]"""
    Seq("UTF-8", "UTF-16LE", "UTF-16BE", "UTF-32BE", "UTF-32LE").foreach { encoding =>
      Seq("", "\uFEFF").foreach { mark =>
        val page = Bodies.of((mark + json).getBytes(encoding))
        val cursor = new JsonRecords(page.piece, RecordFormat.Json(""), place)
        assert(cursor.next(), encoding)
        assert(cursor.row(rowsOf("id INT, name STRING")).getUTF8String(1).toString == """{"ä":1}""", encoding)
        assert(cursor.next() && new String(cursor.bytes, UTF_8) == """{"id":"x"}""", encoding)
      }
    }
  }
}
