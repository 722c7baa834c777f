package io.epochal.core.offset

import com.fasterxml.jackson.databind.node.ObjectNode
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.Conditions

final class OffsetFormatSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  /** Version 1 counted pages of ten, version 2 counts rows. */
  private object Rows extends OffsetFormat[Long]("test", version = 2) {
    override protected def write(position: Long, fields: ObjectNode): Unit = { fields.put("rows", position); () }
    override protected def read(version: Int, fields: ObjectNode): Long =
      if (version == 1) count(fields, "pages") * 10 else count(fields, "rows")
  }

  test("every position round-trips through its JSON, which is always the same text") {
    forAll(Gen.choose(0L, Long.MaxValue), Gen.asciiPrintableStr) { (rows, source) =>
      val json = Rows.toJson(source, rows)
      assert(Rows.fromJson(source, json) == Right(rows))
      assert(Rows.toJson(source, rows) == json)
    }
  }

  test("the JSON starts with the version") {
    assert(Rows.toJson("s", 5) == """{"v":2,"format":"test","source":"s","rows":5}""")
  }

  test("an older version is read") {
    assert(Rows.fromJson("s", """{"v":1,"format":"test","source":"s","pages":3}""") == Right(30L))
  }

  test("a newer version is rejected naming both") {
    val error = Rows.fromJson("s", """{"v":9,"format":"test","source":"s","rows":1}""").left.toOption.get
    assert(error.condition == Conditions.OffsetVersionUnsupported)
    assert(error.getMessage.contains("version 9") && error.getMessage.contains("version 2"))
  }

  test("an offset of another source is rejected naming both") {
    val error = Rows.fromJson("http://b", Rows.toJson("http://a", 1)).left.toOption.get
    assert(error.condition == Conditions.SourceChanged)
    assert(error.getMessage.contains("http://a") && error.getMessage.contains("http://b"))
  }

  test("an offset of another format is rejected even if the names agree") {
    val error = Rows.fromJson("s", """{"v":1,"format":"other","source":"s","pages":3}""").left.toOption.get
    assert(error.condition == Conditions.SourceChanged)
  }

  test("a text that is not an offset is rejected with a reason, and nothing else happens") {
    val broken = Seq(
      "",
      "5",
      "[]",
      "{",
      "null",
      """{"rows":1}""",
      """{"v":"1"}""",
      """{"v":0}""",
      """{"v":2,"format":"test","source":"s"}""",
      """{"v":2,"format":"test","source":"s","rows":-1}""",
      """{"v":2,"format":"test","source":"s","rows":1.5}"""
    )
    broken.foreach { json =>
      val error = Rows.fromJson("s", json).left.toOption
      assert(error.exists(_.condition == Conditions.OffsetInvalid), json)
    }
  }
}
