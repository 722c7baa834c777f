package io.epochal.kit.database

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.database.PostgresType._

/** Descriptions of types from the catalog's rows. No server. */
final class PostgresColumnSuite extends AnyFunSuite {

  private def kind(name: String, oid: Long, modifier: Int = -1, shape: Shape = Plain): PostgresType =
    PostgresType(name, modifier, s"$name!", shape, oid, isSent = name != "aclitem")

  /** Of the table 7. */
  private def level(path: Int*)(name: String, kind: Char = 'b', modifier: Int = -1, field: String = ""): TypeLevel =
    TypeLevel(7 +: path, field, kind, ',', this.kind(name, path.sum.toLong, modifier))

  /** As in `atttypmod`. */
  private def numeric(precision: Int, scale: Int): Int = (precision << 16 | (scale & 0x7ff)) + 4

  test("a domain is described as its base type under its own name, with the innermost modifier") {
    val inner = level(3, 0)("inner", 'd')
    val levels = Seq(
      level(3, 0, 0)("numeric", modifier = numeric(6, 2)),
      level(3)("outer", 'd', field = "c"),
      inner.copy(of = inner.of.copy(isRequired = true)),
      level(1)("int4", field = "a"))
    val cost = kind("numeric", 3, numeric(6, 2))
      .copy(declaration = "outer!", isRequired = true, base = Some("numeric!"))
    assert(
      PostgresColumn.of(levels) == Map(
        7 -> Seq(PostgresColumn("a", -1, kind("int4", 1)), PostgresColumn("c", -1, cost))))
  }

  test("arrays and composites nest; one part that the server cannot send makes the whole unsendable") {
    val levels = Seq(
      level(1)("_pair", 'a', field = "a"),
      level(1, 0)("pair", 'c'),
      level(1, 0, 2)("int4range", 'r', field = "y"),
      level(1, 0, 1)("int4", field = "x"),
      level(2)("_aclitem", 'a', field = "b"),
      level(2, 0)("aclitem"))
    val Seq(pairs, items) = PostgresColumn.of(levels)(7)
    val pair = Fields(Seq("x" -> kind("int4", 2), "y" -> kind("int4range", 3)))
    assert(pairs.kind == kind("_pair", 1, shape = Elements(kind("pair", 1, shape = pair))))
    assert(!items.kind.isSent)
  }

  test("columns are those of their tables, in the order of their numbers") {
    val second = level(2)("text", field = "b")
    val first = level(1)("text", field = "a")
    val other = first.copy(path = Seq(8, 1), field = "c")
    assert(
      PostgresColumn.of(Seq(second, other, first)).map { case (table, columns) => table -> columns.map(_.name) } ==
        Map(7 -> Seq("a", "b"), 8 -> Seq("c")))
  }

  test("a modifier has a length, a precision and scale, or the fraction and fields of an interval") {
    assert(kind("varchar", 1, 24).length.contains(20) && kind("varchar", 1).length.isEmpty)
    Seq((10, 2), (39, 0), (5, -2), (3, 5), (1000, -1000)).foreach { case (precision, scale) =>
      assert(kind("numeric", 1, numeric(precision, scale)).numeric.contains((precision, scale)))
    }
    val minutes = kind("interval", 1, 0x0800 << 16 | 0xffff)
    assert(minutes.intervalFraction == 6 && minutes.intervalFields == 0x0800)
    assert(kind("interval", 1).intervalFields == AllFields && kind("interval", 1).intervalFraction == 6)
    assert(kind("timestamp", 1, 3).fraction == 3 && kind("timestamp", 1).fraction == 6)
  }

  test("a type's name in SQL is qualified and quoted") {
    assert(kind("int4", 1).sql == "\"pg_catalog\".\"int4\"" && kind("o s.uuid", 1).sql == "\"o s\".\"uuid\"")
  }
}
