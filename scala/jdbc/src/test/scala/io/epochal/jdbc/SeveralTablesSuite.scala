package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions
import io.epochal.kit.record.ReplicaKey

final class SqliteSeveralTablesSuite extends SeveralTables(Sqlite)
final class PostgresSeveralTablesSuite extends SeveralTables(Postgres)
@Slow
final class Postgres13SeveralTablesSuite extends SeveralTables(Postgres13)
@Slow
final class MariadbSeveralTablesSuite extends SeveralTables(Mariadb) {
  override protected def storesLists: Boolean = false
}
@Slow
final class Mysql8SeveralTablesSuite extends SeveralTables(Mysql8) {
  override protected def storesLists: Boolean = false
}

/** `tableColumn`: rows of several tables, each a STRUCT of its own column, as `epochal-cdc` delivers them. */
abstract class SeveralTables(databases: TestDatabases) extends SinkSuite(databases) {

  private def struct(table: String, columns: StructType, key: String*): StructField =
    StructField(table, ReplicaKey.mark(columns, table, s"here/$table", key, hasImages = false))

  private val orders = struct("shop.orders", new StructType().add("id", LongType).add("note", StringType), "id")
  private val items = struct(
    "shop.items",
    new StructType().add("line", IntegerType).add("id", LongType).add("price", DecimalType(10, 2)),
    "id",
    "line")
  private val feed = new StructType()
    .add("_unchanged_columns", ArrayType(StringType, containsNull = false))
    .add("_change_type", StringType)
    .add("_commit_version", StringType)
  private val schema = StructType(StructField("_table", StringType) +: orders +: items +: feed)
  private val options = Map(
    "sinkId" -> "sink",
    "dbtable" -> "{schema}_{table}",
    "tableColumn" -> "_table",
    "mode" -> "changes",
    "createTable" -> "true")

  private var version = 0

  private def text(value: String): UTF8String = UTF8String.fromString(value)

  private def change(table: String, kind: String, order: InternalRow, item: InternalRow): InternalRow = {
    version += 1
    InternalRow(text(table), order, item, null, text(kind), text(f"$version%09d"))
  }

  private def order(id: Any, note: String, kind: String = "insert"): InternalRow =
    change("shop.orders", kind, InternalRow(id, text(note)), null)

  private def item(line: Int, id: Long, price: String, kind: String = "insert"): InternalRow = {
    val number = Option(price).map(Decimal(_)).orNull
    if (number != null) number.changePrecision(10, 2)
    change("shop.items", kind, null, InternalRow(line, id, number))
  }

  private def run(f: JdbcSinkFixture, more: (String, String)*): JdbcRun = f.newRun(query, options ++ more)

  private def ordersOf(f: JdbcSinkFixture): Seq[String] =
    f.database.query("SELECT id, note FROM shop_orders ORDER BY id").map(_.mkString(" "))

  private def count(f: JdbcSinkFixture, table: String): Any = f.database.one(s"SELECT count(*) FROM $table")

  onSchema("an epoch's rows go into their tables, once", schema) { f =>
    val first = run(f)
    write(f, first, 0, Seq(order(1L, "a"), item(1, 1L, "1.50"), order(2L, "b"), item(2, 1L, null)))
    write(f, first, 0, Seq(order(1L, "a"), item(1, 1L, "1.50"), order(2L, "b"), item(2, 1L, null)))
    assert(ordersOf(f) == Seq("1 a", "2 b"))
    assert(count(f, "shop_items") == 2L)
    write(f, run(f), 1, Seq(order(1L, "changed", "update_postimage"), order(2L, null, "delete"), order(3L, "new")))
    assert(ordersOf(f) == Seq("1 changed", "3 new"))
    assert(count(f, "shop_items") == 2L)
    assert(ledger(f, "last_epoch") == 1L)
    assert(ledger(f, "last_epoch", "sink/shop.orders") == 1L)
    assert(ledger(f, "last_epoch", "sink/shop.items") == 0L)
    assert(ledger(f, "total_rows", "sink/shop.items") == 2L)
  }

  /** Whether the database can store `_unchanged_columns`. */
  protected def storesLists: Boolean = true

  if (storesLists) onSchema("a history keeps every change beside the replica, or alone", schema) { f =>
    val changes = Seq(
      order(1L, "a"),
      order(1L, "b", "update_postimage"),
      order(1L, null, "delete"),
      change("shop.orders", "truncate", null, null),
      item(1, 1L, "1.50"))
    def history(table: String): Seq[String] =
      f.database.query(s"SELECT id, note, _change_type FROM $table ORDER BY _commit_version").map(_.mkString(" "))
    val kept = Seq("1 a insert", "1 b update_postimage", "1 null delete", "null null truncate")
    (0 to 1).foreach(_ => write(f, run(f, "historyTable" -> "{table}_changes"), 0, changes))
    assert(history("orders_changes") == kept)
    assert(ordersOf(f).isEmpty)
    assert(count(f, "items_changes") == 1L)
    assert(count(f, "shop_items") == 1L)
    assert(ledger(f, "total_rows", "sink/shop.orders/history") == 4L)
    val alone = Map("sinkId" -> "alone", "mode" -> "append", "dbtable" -> "all_{table}")
    write(f, f.newRun(otherQuery, options ++ alone), 0, changes)
    assert(history("all_orders") == kept)
    write(f, run(f, "historyTable" -> "{table}_changes"), 1, Seq(order(2L, "c")))
    assert(history("orders_changes") == kept :+ "2 c insert")
  }
  else
    onSchema("a history is refused, since its lists of columns cannot be stored", schema) { f =>
      refused(Conditions.TypeUnsupported)(run(f, "historyTable" -> "{table}_changes"))
    }

  onSchema("a truncate empties its table only", schema) { f =>
    write(f, run(f), 0, Seq(order(1L, "a"), item(1, 1L, "1.50")))
    write(f, run(f), 1, Seq(change("shop.orders", "truncate", null, null), order(7L, "later")))
    assert(ordersOf(f) == Seq("7 later"))
    assert(count(f, "shop_items") == 1L)
  }

  /** Rows of a transaction, with the number of each in it, as the source numbers them. */
  private def of(transaction: Int, rows: InternalRow*): Seq[InternalRow] = rows.zipWithIndex.map { case (row, i) =>
    row.update(5, text(f"$transaction%016X/$i%010d"))
    row
  }

  onSchema("rows that replace those of a table are compared with them", schema) { f =>
    def truncate = change("shop.orders", "truncate", null, null)
    val first = run(f)
    write(f, first, 0, of(1, (1 to 4).map(i => order(i.toLong, "a")): _*))
    assert(!first.metrics.contains("replaced"))
    f.database.execute(
      "UPDATE shop_orders SET note = 'A' WHERE id = 2",
      "DELETE FROM shop_orders WHERE id = 3",
      "INSERT INTO shop_orders (id, note) VALUES (9, 'a'), (10, 'a')")
    write(f, first, 1, of(2, truncate +: (1 to 4).map(i => order(i.toLong, "a")): _*))
    assert(first.metrics("replaced").endsWith("shop_orders: 2 rows equal, 1 different, 1 missing, 2 extra"))
    assert(ordersOf(f) == (1 to 4).map(i => s"$i a"))
    write(f, first, 2, of(3, order(5L, null), item(1, 1L, "1.50")))
    assert(!first.metrics.contains("replaced"))
    val changes = of(
      4,
      change("shop.items", "truncate", null, null),
      item(1, 1L, "1.50"),
      truncate,
      order(1L, "a"),
      order(5L, null),
      order(2L, "b"),
      order(1L, null, "delete"))
    write(f, first, 3, changes)
    val replaced = first.metrics("replaced").split("; ").sorted
    assert(replaced(0).endsWith("shop_items: 1 row equal, 0 different, 0 missing, 0 extra"))
    assert(replaced(1).endsWith("shop_orders: 1 row equal, 1 different, 0 missing, 2 extra, 1 not compared"))
    assert(ordersOf(f) == Seq("2 b", "5 null"))
    // Changes of later transactions are not compared, and with earlier ones nothing is.
    write(f, first, 4, of(5, truncate, order(2L, "b"), order(6L, "c")) ++ of(6, order(5L, null), order(6L, "d")))
    assert(
      first.metrics("replaced").endsWith("shop_orders: 1 row equal, 0 different, 0 missing, 0 extra, 2 not compared"))
    write(f, first, 5, of(7, order(7L, "e")) ++ of(8, truncate, order(2L, "b")))
    assert(!first.metrics.contains("replaced") && ordersOf(f) == Seq("2 b"))
    write(f, first, 6, of(9, truncate))
    assert(!first.metrics.contains("replaced") && ordersOf(f).isEmpty)
  }

  onSchema("a table is compared with the rows that its source has, and stays as it is", schema) { f =>
    val first = if (storesLists) run(f, "historyTable" -> "{table}_changes") else run(f)
    def mark(kind: String) = change("shop.orders", kind, null, null)
    def verification(rows: InternalRow*): Seq[InternalRow] = (mark("verify_begin") +: rows) :+ mark("verify_end")
    def row(id: Long, note: String) = order(id, note, "verify")
    def lacking(id: Long): InternalRow = {
      val partial = order(id, null, "verify_update")
      partial.update(3, ArrayData.toArrayData(Array(text("note"))))
      partial
    }
    def recorded = f.database
      .query("""SELECT position, equal_rows, different_rows, missing_rows, extra_rows, other_rows, found, equal_position
               |FROM epochal_ledger_verification WHERE target LIKE '%shop_orders'""".stripMargin)
      .map(_.mkString(" "))
    write(f, first, 0, of(1, (1 to 4).map(i => order(i.toLong, "a")): _*))
    val rows = (1 to 3).map(i => row(i.toLong, "a")) ++ Seq(row(4L, "b"), row(4L, "a"), row(5L, "c"), lacking(1L)) :+
      order(5L, null, "verify_delete")
    write(f, first, 1, of(26, verification(rows: _*): _*))
    assert(first.metrics("verified").endsWith("shop_orders: 4 rows equal, 0 different, 0 missing, 0 extra"))
    assert(recorded == Seq("0/1A 4 0 0 0 0 4 rows equal, 0 different, 0 missing, 0 extra 0/1A"))
    f.database.execute(
      "UPDATE shop_orders SET note = 'A' WHERE id = 2",
      "DELETE FROM shop_orders WHERE id = 3",
      "INSERT INTO shop_orders (id, note) VALUES (9, 'a'), (10, 'a')")
    val before = ordersOf(f)
    (0 to 1).foreach { time =>
      write(f, first, 2, of(27, verification(rows :+ order(4L, null, "verify_delete"): _*): _*))
      val counts = "1 row equal, 1 different, 1 missing, 3 extra"
      val found = s"$counts; different: (id 2); missing: (id 3); extra: (id 4) (id 9) (id 10)"
      // The second time, the epoch is there already.
      assert(first.metrics.get("verified").exists(_.endsWith(s"shop_orders: $counts")) == (time == 0))
      assert(first.metrics("differingRows") == "5")
      assert(recorded == Seq(s"0/1B 1 1 1 3 0 $found 0/1A"))
      assert(ordersOf(f) == before)
    }
    // What is no whole comparison is none, and changes in the same epoch are stored.
    val other = "not compared: the epoch has other changes of the table"
    write(f, first, 3, of(28, order(7L, "e")) ++ of(29, verification(row(1L, "x")): _*) ++ of(30, order(8L, "f")))
    assert(
      first.metrics("verified").endsWith(other) && ordersOf(f) == (before ++ Seq("7 e", "8 f")).sortBy(
        _.split(' ').head.toInt))
    val part = "not compared: the epoch has only a part of the rows"
    val whole = verification(row(1L, "x"), order(7L, null, "verify_delete"))
    Seq(whole.init, whole.tail, whole.init.tail, whole.init :+ mark("verify_begin")).zipWithIndex.foreach {
      case (rows, i) =>
        write(f, first, 4L + i, of(31 + i, rows: _*))
        assert(first.metrics("verified").endsWith(part))
    }
    // A TRUNCATE while the rows were read begins them again.
    write(
      f,
      first,
      8,
      of(
        40,
        mark("verify_begin") +: row(1L, "z") +: verification((before ++ Seq("7 e", "8 f")).map { one =>
          val Array(id, note) = one.split(' ')
          row(id.toLong, note)
        }: _*): _*))
    assert(first.metrics("verified").contains(", 0 different, 0 missing, 0 extra"))
    if (storesLists)
      assert(
        f.database.query("SELECT id FROM orders_changes ORDER BY id").flatten.map(_.toString.toInt) == Seq(1, 2, 3, 4,
          7, 8))
  }

  onSchema("a run that was replaced writes into none of the tables", schema) { f =>
    val old = run(f)
    write(f, old, 0, Seq(order(1L, "a"), item(1, 1L, "1.50")))
    write(f, run(f), 1, Seq(order(2L, "b")))
    refused(Conditions.SinkFenced)(write(f, old, 2, Seq(order(3L, "c"), item(3, 1L, "1.50"))))
    assert(ordersOf(f) == Seq("1 a", "2 b"))
  }

  onSchema("rows beyond the messages travel by files", schema) { f =>
    val rows = (1 to 3000).flatMap(i => Seq(order(i.toLong, "x" * 100), item(i % 9, i.toLong, "0.10")))
    write(f, run(f, "inlineMaxBytes" -> "1k"), 0, rows)
    assert(count(f, "shop_orders") == 3000L)
    assert(count(f, "shop_items") == 3000L)
  }

  onSchema("a value that its column cannot hold fails the epoch of all tables", schema) { f =>
    val error = refused(Conditions.BadRow)(write(f, run(f), 0, Seq(item(1, 1L, "1.50"), order(null, "a"))))
    assert(error.getMessage.contains("shop.orders") && error.getMessage.contains("id BIGINT: it is NULL"))
    assert(count(f, "shop_items") == 0L)
  }

  onSchema("a row of a table that the query lacks is refused", schema) { f =>
    val row = change("shop.other", "insert", null, null)
    val error = refused(Conditions.BadRow)(write(f, run(f), 0, Seq(row)))
    assert(error.getMessage.contains("it is 'shop.other', and the query has no column of that name"))
  }

  onSchema("a table that another sink writes is refused, and the reverse", schema) { f =>
    Seq("shop_orders", "other_orders").foreach(table =>
      f.database.execute(s"CREATE TABLE $table (id BIGINT PRIMARY KEY, word VARCHAR(99), note VARCHAR(99))"))
    val one = new JdbcSinkFixture(f.database)
    def writeOne(sink: String, table: String): Unit =
      write(one, one.newRun(otherQuery, Map("dbtable" -> table, "sinkId" -> sink)), 0, numbers(one, 1 to 3))
    writeOne("single", "shop_orders")
    refused(Conditions.TargetShared)(write(f, run(f), 0, Seq(order(1L, "a"))))
    write(f, run(f, "dbtable" -> "other_{table}"), 0, Seq(order(1L, "a")))
    refused(Conditions.TargetShared)(writeOne("third", "other_orders"))
  }

  onSchema("a table that was dropped and created again is refused", schema) { f =>
    write(f, run(f), 0, Seq(order(1L, "a"), item(1, 1L, "1.50")))
    f.database.execute("DROP TABLE shop_items")
    val error = refused(Conditions.TargetChanged)(write(f, run(f), 1, Seq(order(2L, "b"))))
    assert(error.getMessage.contains("shop_items"))
    assert(ordersOf(f) == Seq("1 a"))
  }

  onSchema("a query that replaces another one empties all its tables", schema) { f =>
    write(f, run(f), 0, Seq(order(1L, "a"), item(1, 1L, "1.50")))
    refused(Conditions.QueryChanged)(write(f, f.newRun(otherQuery, options), 0, Seq(order(2L, "b"))))
    write(f, f.newRun(otherQuery, options + ("onNewQuery" -> "replace")), 0, Seq(order(2L, "b")))
    assert(ordersOf(f) == Seq("2 b"))
    assert(count(f, "shop_items") == 0L)
    assert(ledger(f, "query_id", "sink/shop.items") == otherQuery)
  }

  onSchema("a table that the query gets later begins with its first epoch", StructType(schema.filterNot(_ == items))) {
    f =>
      write(f, run(f), 0, Seq(change0("shop.orders", 1L)))
      val wide = new JdbcSinkFixture(f.database, schema)
      wide.logOffsets(0, """{"epoch":0,"offsets":"same"}""")
      write(wide, wide.newRun(query, options), 1, Seq(order(2L, "b"), item(1, 1L, "1.50")))
      assert(count(f, "shop_orders") == 2L)
      assert(count(f, "shop_items") == 1L)
  }

  private def change0(table: String, id: Long): InternalRow = {
    version += 1
    InternalRow(text(table), InternalRow(id, text("a")), null, text("insert"), text(f"$version%09d"))
  }

  onSchema("a table that some epochs were without is refused when it comes back", schema) { f =>
    write(f, run(f), 0, Seq(order(1L, "a"), item(1, 1L, "1.50")))
    val narrow = new JdbcSinkFixture(f.database, StructType(schema.filterNot(_ == items)))
    (0 to 1).foreach(epoch => narrow.logOffsets(epoch.toLong, s"""{"epoch":$epoch,"offsets":"same"}"""))
    write(f, run(f), 1, Seq(item(2, 1L, "1.50")))
    write(narrow, narrow.newRun(query, options), 2, Seq(change0("shop.orders", 2L)))
    f.logOffsets(2, """{"epoch":2,"offsets":"same"}""")
    val error = refused(Conditions.EpochGap)(write(f, run(f), 3, Seq(item(3, 1L, "1.50"))))
    assert(error.getMessage.contains("sink/shop.items") && error.getMessage.contains("has left shop.items out"))
    assert(count(f, "shop_items") == 2L)
  }

  onSchema("what rows of several tables cannot have is refused at the start", schema) { f =>
    Seq(
      Map("keyColumns" -> "id"),
      Map("columnMap" -> "id:key"),
      Map("deadLetterTable" -> "bad"),
      Map("transport" -> "prepared"),
      Map("mode" -> "upsert"),
      Map("historyTable" -> "history"),
      Map("dbtable" -> "t")).foreach(more => refused(Conditions.OptionConflict)(f.newRun(query, options ++ more)))
    refused(Conditions.OptionConflict)(f.newRun(query, (options - "tableColumn") + ("keyColumns" -> "id")))
    refused(Conditions.OptionInvalid)(f.newRun(query, options + ("tableColumn" -> "_tabel")))
    val keyless = new JdbcSinkFixture(
      f.database,
      StructType(
        schema.map(field =>
          if (field == items) field.copy(dataType = StructType(items.dataType.asInstanceOf[StructType].tail))
          else field)))
    assert(refused(Conditions.KeyNotFollowed)(keyless.newRun(query, options)).getMessage.contains("shop.items"))
  }
}
