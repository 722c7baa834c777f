package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
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

  onSchema("rows that replace those of a table are compared with them", schema) { f =>
    // The transaction, then the number of the change in it, as the source numbers them.
    def of(transaction: Int, rows: InternalRow*): Seq[InternalRow] = rows.map { row =>
      row.update(5, text(f"$transaction%016X/${row.getUTF8String(5).toString.toInt}%010d"))
      row
    }
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
