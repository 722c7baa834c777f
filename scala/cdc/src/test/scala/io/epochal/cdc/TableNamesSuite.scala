package io.epochal.cdc

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}

final class TableNamesSuite extends AnyFunSuite {
  private val orders = 1L -> "public.orders"
  private val items = 2L -> "public.items"
  private val one = TableNames(Map(orders), isSeveral = false, "s")
  private val several = TableNames(Map(orders, items), isSeveral = true, "s")

  private def change(error: Option[EpochalException]): Option[String] = error.map { found =>
    assert(found.condition == Conditions.TablesChanged)
    found.values("change")
  }

  Seq(
    ("the captured table", one, orders, None),
    ("it under another name", one, 1L -> "public.old", Some("public.orders is now public.old")),
    ("another one under its name", one, 3L -> "public.orders", Some("public.orders was created again")),
    ("another one", one, 3L -> "public.other", Some("public.other instead of public.orders")),
    ("one of several", several, items, None),
    ("one of several under another name", several, 2L -> "public.x", Some("public.items is now public.x")),
    (
      "one of several under the name of another",
      several,
      2L -> "public.orders",
      Some("public.items is now public.orders")),
    ("a further one", several, 3L -> "public.x", Some("public.x was added, and may have rows from before"))
  ).foreach { case (name, names, (oid, table), expected) =>
    test(s"$name: ${expected.getOrElse("is captured")}") {
      assert(change(names.refusal(oid, table)(isWhole = false)) == expected)
    }
  }

  test("a further table whose rows are all in the log is captured beside several, and not instead of one") {
    assert(several.refusal(3, "public.x")(isWhole = true).isEmpty)
    val error = one.refusal(3, "public.x")(isWhole = true).get
    assert(error.getMessage.contains("dbtable=public.orders, sourceId=s"))
  }

  test("a table that is gone ends a query of one table, and of several only if its name has another one") {
    assert(change(one.change(Nil, Seq(orders))).contains("public.orders was dropped"))
    assert(change(one.change(Seq(1L -> "public.old"), Seq(orders))).contains("public.orders is now public.old"))
    assert(one.change(Seq(orders), Seq(orders)).isEmpty)
    assert(several.change(Seq(orders), Seq(orders, items)).isEmpty)
    assert(
      change(several.change(Seq(orders, 3L -> "public.items"), Seq(orders, items)))
        .contains("public.items was created again"))
  }
}
