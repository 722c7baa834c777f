package io.epochal.cdc.value

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import org.scalatest.funsuite.AnyFunSuite

/** Which columns the JSON of a change has. No server; values are in [[ServerValuesSuite]]. */
final class RowJsonSuite extends AnyFunSuite {
  private val columns = Seq(("id", true, "int4"), ("note \"x\"", false, "text"), ("large", false, "jsonb")).map {
    case (name, isKey, kind) => (name, isKey, PostgresType(kind, -1, kind, isSent = true))
  }

  /** The tuple of texts; `null` is NULL, and `u` stands for a value that was not sent. */
  private def tuple(values: String*): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeShort(values.size)
    values.foreach {
      case null => out.writeByte('n'.toInt)
      case "u"  => out.writeByte('u'.toInt)
      case text =>
        out.writeByte('t'.toInt)
        out.writeInt(text.getBytes(UTF_8).length)
        out.write(text.getBytes(UTF_8))
    }
    bytes.toByteArray
  }

  private def unchanged(json: RowJson): Seq[String] = Option(json.unchanged).toSeq.flatten.map(_.toString)

  test("a value that was not sent is left out, and named") {
    val json = new RowJson("public.t", columns)
    json.readRow(tuple("1", null, "u"), 0)
    assert(json.after.toString == """{"id":1,"note \"x\"":null}""")
    assert(unchanged(json) == Seq("large"))
    assert(json.identity.toString == """{"id":1}""")
  }

  test("the whole row before an update has the values that were not sent") {
    val json = new RowJson("public.t", columns)
    val both = tuple("1", "a", """{"k": [1.50]}""") ++ tuple("2", "b", "u")
    json.readRow(both, json.readBefore(both, 0))
    json.complete()
    assert(json.after.toString == """{"id":2,"note \"x\"":"b","large":{"k": [1.50]}}""")
    assert(unchanged(json).isEmpty)
    assert(json.before(isWhole = true).toString == """{"id":1,"note \"x\"":"a","large":{"k": [1.50]}}""")
  }

  test("a replica identity has its own columns only") {
    val json = new RowJson("public.t", columns)
    json.readBefore(tuple("1", null, null), 0): Unit
    assert(json.before(isWhole = false).toString == """{"id":1}""")
    val keyless = new RowJson("public.t", columns.map(_.copy(_2 = false)))
    keyless.readRow(tuple("1", "a", null), 0)
    assert(keyless.identity.toString == "{}")
  }
}
