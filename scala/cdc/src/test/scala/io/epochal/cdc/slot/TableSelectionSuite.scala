package io.epochal.cdc.slot

import org.scalatest.funsuite.AnyFunSuite

final class TableSelectionSuite extends AnyFunSuite {

  private def parts(text: String): Option[Seq[(Option[String], String)]] =
    TableSelection.parse(text).map(_.names.map(name => name.schema.map(_.text) -> name.table.text))

  test("names have commas between them, which may also stand within quotes") {
    assert(parts("orders") == Some(Seq(None -> "orders")))
    assert(parts("public.orders, sales.items") == Some(Seq(Some("public") -> "orders", Some("sales") -> "items")))
    assert(parts("\"a,b\".\"c\"\",\",d") == Some(Seq(Some("a,b") -> "c\",", None -> "d")))
    assert(parts("public.*,sales.items") == Some(Seq(Some("public") -> "*", Some("sales") -> "items")))
  }

  test("several names, and a star, have generic rows") {
    assert(!TableSelection.parse("public.orders").exists(_.isSeveral))
    assert(!TableSelection.parse("public.\"*\"").exists(_.isSeveral))
    assert(TableSelection.parse("a,b").exists(_.isSeveral))
    assert(TableSelection.parse("public.*").exists(_.isSeveral))
    assert(TableSelection.parse("public.orders,items").map(_.toString) == Some("public.orders,items"))
  }

  test("a name that is missing, and a star without its schema, are refused") {
    Seq("", "a,", ",a", "a,,b", "*", "a,*", "a b").foreach(text => assert(parts(text).isEmpty, text))
  }
}
