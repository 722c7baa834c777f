package io.epochal.cdc.value

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.pgoutput.TestTuple
import io.epochal.cdc.pgoutput.TestTuple.Unsent
import io.epochal.kit.database.PostgresType

/** Which columns the JSON of a change has. No server; values are in [[ServerValuesSuite]]. */
final class RowJsonSuite extends AnyFunSuite {
  private val columns = Seq(("id", true, "int4"), ("note \"x\"", false, "text"), ("large", false, "jsonb")).map {
    case (name, isKey, kind) => (name, isKey, PostgresType(kind, -1, kind))
  }

  private def unchanged(json: RowJson): Seq[String] = Option(json.unchanged).toSeq.flatten.map(_.toString)

  test("a value that was not sent is left out, and named") {
    val json = new RowJson("public.t", columns)
    json.readRow(TestTuple.of("1", null, Unsent), 0)
    assert(json.after.toString == """{"id":1,"note \"x\"":null}""")
    assert(unchanged(json) == Seq("large"))
    assert(json.identity.toString == """{"id":1}""")
  }

  test("the whole row before an update has the values that were not sent") {
    val json = new RowJson("public.t", columns)
    val both = TestTuple.of("1", "a", """{"k": [1.50]}""") ++ TestTuple.of("2", "b", Unsent)
    json.readRow(both, json.readBefore(both, 0))
    json.complete()
    assert(json.after.toString == """{"id":2,"note \"x\"":"b","large":{"k": [1.50]}}""")
    assert(unchanged(json).isEmpty)
    assert(json.before(isWhole = true).toString == """{"id":1,"note \"x\"":"a","large":{"k": [1.50]}}""")
  }

  test("a replica identity has its own columns only") {
    val json = new RowJson("public.t", columns)
    json.readBefore(TestTuple.of("1", null, null), 0): Unit
    assert(json.before(isWhole = false).toString == """{"id":1}""")
    val keyless = new RowJson("public.t", columns.map(_.copy(_2 = false)))
    keyless.readRow(TestTuple.of("1", "a", null), 0)
    assert(keyless.identity.toString == "{}")
  }
}
