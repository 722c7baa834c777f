package io.epochal.jdbc

import org.apache.logging.log4j.Level
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.tags.Slow

import io.epochal.kit.record.ReplicaKey
import io.epochal.support.LoggedLines

final class SqliteComparedChunksSuite extends ComparedChunks(Sqlite)
final class PostgresComparedChunksSuite extends ComparedChunks(Postgres, "UUID") {
  single(", from staging tables", "transport" -> "staged")
}
@Slow
final class PostgresIcuComparedChunksSuite extends ComparedChunks(PostgresIcu)
@Slow
final class Postgres13ComparedChunksSuite extends ComparedChunks(Postgres13, "UUID")
@Slow
final class MariadbComparedChunksSuite extends ComparedChunks(Mariadb)
@Slow
final class Mysql8ComparedChunksSuite extends ComparedChunks(Mysql8)
@Slow
final class Mysql8ByMariadbComparedChunksSuite extends ComparedChunks(Mysql8ByMariadb)

/** A table is compared with its source in chunks, each a range of its key in an epoch of its own. */
abstract class ComparedChunks(databases: TestDatabases, uuidType: String = "") extends SinkSuite(databases) {
  private type Key = Seq[Any]

  private def struct(table: String, columns: StructType, key: String*): StructField =
    StructField(table, ReplicaKey.mark(columns, table, s"here/$table", key, hasImages = false))

  // The order of the source's key is not that of the columns.
  private val tables = Seq(
    struct("shop.orders", new StructType().add("id", LongType).add("note", StringType), "id"),
    struct(
      "shop.items",
      new StructType().add("line", IntegerType).add("id", LongType).add("note", StringType),
      "id",
      "line"),
    struct("shop.tokens", new StructType().add("id", StringType).add("note", StringType), "id")
  )
  private val Seq(orders, items, tokens) = tables.indices
  private val feed = new StructType()
    .add("_unchanged_columns", ArrayType(StringType, containsNull = false))
    .add("_change_type", StringType)
    .add("_commit_version", StringType)
  private val schema = StructType((StructField("_table", StringType) +: tables) ++ feed)
  private val ddl = Seq(
    "CREATE TABLE shop_orders (id BIGINT NOT NULL PRIMARY KEY, note TEXT)",
    "CREATE TABLE shop_items (line INT NOT NULL, id BIGINT NOT NULL, note TEXT, PRIMARY KEY (id, line))",
    s"CREATE TABLE shop_tokens (id ${if (uuidType.isEmpty) databases.keyText else uuidType} NOT NULL PRIMARY KEY, note TEXT)"
  )
  private val options =
    Map("sinkId" -> "sink", "dbtable" -> "{schema}_{table}", "tableColumn" -> "_table", "mode" -> "changes") ++
      databases.keyOptions

  private def key(values: Any*): Key = values
  private def text(value: String): UTF8String = UTF8String.fromString(value)

  private def values(key: Key, note: String): InternalRow =
    InternalRow.fromSeq((key :+ note).map { case word: String => text(word); case other => other })

  private def change(table: Int, kind: String, key: Key = Nil, note: String = null): InternalRow = {
    val row = if (key.isEmpty) null else values(key, note)
    val places = tables.indices.map(i => if (i == table) row else null)
    InternalRow.fromSeq((text(tables(table).name) +: places) ++ Seq(null, text(kind), null))
  }

  /** Rows of a transaction, with the number of each in it, as the source numbers them. */
  private def of(transaction: Int, rows: Seq[InternalRow]): Seq[InternalRow] = rows.zipWithIndex.map { case (row, i) =>
    row.update(row.numFields - 1, text(f"$transaction%016X/$i%010d"))
    row
  }

  private def chunk(table: Int, after: Key, until: Key, end: String = "verify_end")(
      rows: InternalRow*): Seq[InternalRow] = {
    def bound(kind: String, key: Key) = Seq(change(table, kind, key)).filter(_ => key.nonEmpty)
    (change(table, "verify_begin") +: bound("verify_after", after)) ++ rows ++ bound("verify_until", until) :+
      change(table, end)
  }

  private def lacking(change: InternalRow): InternalRow = {
    change.update(tables.size + 1, ArrayData.toArrayData(Array(text("note"))))
    change
  }

  private def row(table: Int, key: Key, note: String = "a"): InternalRow = change(table, "verify", key, note)
  private def order(id: Long, note: String = "a"): InternalRow = row(orders, Seq(id), note)

  private def stored(f: JdbcSinkFixture, table: String): Seq[String] =
    f.database.query(s"SELECT * FROM $table").map(_.mkString(" ")).sorted

  private def recorded(f: JdbcSinkFixture, table: String = "orders"): String = f.database
    .query(s"""SELECT position, found, until_key, equal_position,
              |COALESCE(equal_rows + different_rows + missing_rows + extra_rows + other_rows, -1)
              |FROM epochal_ledger_verification WHERE target LIKE '%$table'""".stripMargin)
    .map(_.mkString(" | "))
    .mkString("\n")

  private def onTables(claim: String)(body: (JdbcSinkFixture, Query) => Any): Unit =
    onSchema(claim, schema, ddl: _*)(f => body(f, new Query(f)))

  /** Writes epochs, each a transaction. */
  final private class Query(f: JdbcSinkFixture, more: (String, String)*) {
    val run: JdbcRun = f.newRun(query, options ++ more)
    private var epoch = -1

    def verified: String = run.metrics.getOrElse("verified", "")

    def write(rows: Seq[InternalRow]*): Unit = {
      epoch += 1
      val all = rows.zipWithIndex.flatMap { case (ofOne, i) => of(16 * (epoch + 1) + i, ofOne) }
      ComparedChunks.this.write(f, run, epoch.toLong, all)
    }
  }

  private def insert(table: Int, keys: Key*): Seq[InternalRow] = keys.map(change(table, "insert", _, "a"))

  onTables("chunks of a table are compared with the rows of their ranges, and counted together") { (f, query) =>
    query.write(insert(orders, (-1L to 6L).map(Seq(_)): _*))
    f.database.execute(
      "UPDATE shop_orders SET note = 'A' WHERE id = -1",
      "DELETE FROM shop_orders WHERE id = 4",
      "INSERT INTO shop_orders (id, note) VALUES (9, 'a'), (-9, 'a')")
    val before = stored(f, "shop_orders")
    query.write(chunk(orders, Nil, Seq(2L))((-1L to 2L).map(order(_)): _*))
    val first = "3 rows equal, 1 different, 0 missing, 1 extra"
    val keys = "different: (id -1); extra: (id -9)"
    assert(query.verified.endsWith(s"shop_orders: $first up to (id 2)"))
    assert(recorded(f) == s"0/20 | $first; $keys | (id 2) | null | 5")
    query.write(chunk(orders, Seq(2L), Seq(4L))(order(3), order(4)))
    assert(query.verified.endsWith("shop_orders: 4 rows equal, 1 different, 1 missing, 1 extra up to (id 4)"))
    val lines = LoggedLines.of(Level.WARN)(query.write(chunk(orders, Seq(4L), Nil)(order(5), order(6))))
    val all = "6 rows equal, 1 different, 1 missing, 2 extra"
    assert(lines.exists(_.endsWith(s"shop_orders: $all; $keys; missing: (id 4); extra: (id 9)")))
    assert(query.verified.endsWith(s"shop_orders: $all"))
    assert(recorded(f) == s"0/20 | $all; $keys; missing: (id 4); extra: (id 9) | null | null | 10")
    assert(query.run.metrics("differingRows") == "4")
    assert(stored(f, "shop_orders") == before)
  }

  onTables("a comparison whose chunks are equal records the position of its first chunk") { (f, query) =>
    query.write(insert(orders, (1L to 600L).map(Seq(_)): _*))
    query.write(chunk(orders, Nil, Seq(500L))((1L to 500L).map(order(_)): _*))
    assert(recorded(f) == "0/20 | 500 rows equal, 0 different, 0 missing, 0 extra | (id 500) | null | 500")
    // Changes since the copy; one lacks a value.
    val changes = Seq(
      change(orders, "verify_update", Seq(501L), "a"),
      lacking(change(orders, "verify_update", Seq(502L))),
      change(orders, "verify_delete", Seq(700L)),
      change(orders, "verify_delete", Seq(701L)))
    query.write(
      chunk(orders, Seq(500L), Nil)(Seq(order(501, "old"), order(700)) ++ (502L to 600L).map(order(_)) ++ changes: _*))
    val equal = "0/20 | 600 rows equal, 0 different, 0 missing, 0 extra | null | 0/20 | 600"
    assert(recorded(f) == equal)
    // The next comparison differs in one chunk.
    query.write(chunk(orders, Nil, Seq(500L))((2L to 500L).map(order(_)): _*))
    query.write(chunk(orders, Seq(500L), Nil)((501L to 600L).map(order(_)): _*))
    assert(recorded(f) == "0/40 | 599 rows equal, 0 different, 0 missing, 1 extra; extra: (id 1) | null | 0/20 | 600")
    query.write(chunk(orders, Nil, Nil)((1L to 600L).map(order(_)): _*))
    assert(recorded(f) == equal.replace("0/20", "0/60"))
  }

  private def correct(after: Key, until: Key)(rows: InternalRow*): Seq[InternalRow] =
    chunk(orders, after, until, "verify_repair")(rows: _*)

  onSchema(
    "a chunk whose correction would violate a constraint stays as it is, and the query continues",
    schema,
    ddl.map(_.replace("PRIMARY KEY, note TEXT", s"PRIMARY KEY, note ${databases.keyText} UNIQUE")): _*) { f =>
    val query = new Query(f)
    query.write((1L to 4L).flatMap(i => Seq(change(orders, "insert", Seq(i), s"n$i"))))
    f.database.execute(
      "UPDATE shop_orders SET note = 'x' WHERE id = 1",
      "UPDATE shop_orders SET note = 'n1' WHERE id = 4")
    def correctAll(): Seq[String] = {
      query.write(correct(Nil, Seq(2L))(order(1, "n1"), order(2, "n2")))
      val first = Seq("verified", "replaced").flatMap(query.run.metrics.get).mkString
      query.write(correct(Seq(2L), Nil)(order(3, "n3"), order(4, "n4")))
      Seq(first, recorded(f))
    }
    val Seq(first, all) = correctAll()
    assert(first.endsWith("1 row equal, 1 different, 0 missing, 0 extra up to (id 2)"))
    assert(
      all.contains("| 2 rows equal, 2 different, 0 missing, 0 extra, corrected; different: (id 1); not corrected: "))
    assert(stored(f, "shop_orders") == Seq("1 x", "2 n2", "3 n3", "4 n4"))
    correctAll()
    assert(stored(f, "shop_orders") == (1 to 4).map(i => s"$i n$i"))
  }

  private val isMysql = Seq(Mariadb, Mysql8, Mysql8ByMariadb).contains(databases)

  onTables("a row that the source lacks stays while another table refers to it") { (f, _) =>
    val deferred = if (isMysql) "" else " DEFERRABLE INITIALLY DEFERRED"
    f.database.execute(
      s"CREATE TABLE needs (id BIGINT NOT NULL, FOREIGN KEY (id) REFERENCES shop_orders (id)$deferred)")
    val url = f.database.url + (if (databases == Sqlite) "?foreign_keys=on" else "")
    val query = new Query(f, "url" -> url)
    query.write(insert(orders, Seq(1L), Seq(2L)))
    f.database.execute(
      "UPDATE shop_orders SET note = 'A' WHERE id = 1",
      "INSERT INTO shop_orders (id, note) VALUES (9, 'a')",
      "INSERT INTO needs (id) VALUES (9)")
    query.write(correct(Nil, Nil)(order(1), order(2)))
    assert(query.verified.endsWith("1 row equal, 1 different, 0 missing, 1 extra"))
    assert(recorded(f).contains("extra: (id 9); not corrected: "))
    assert(stored(f, "shop_orders") == Seq("1 A", "2 a", "9 a"))
    f.database.execute("DELETE FROM needs")
    query.write(correct(Nil, Nil)(order(1), order(2)))
    assert(stored(f, "shop_orders") == Seq("1 a", "2 a"))
  }

  onTables("rows that differ are corrected, each in the chunk that has its key") { (f, query) =>
    query.write(insert(orders, (1L to 9L).map(Seq(_)): _*))
    f.database.execute(
      "UPDATE shop_orders SET note = 'A' WHERE id IN (1, 6, 8)",
      "DELETE FROM shop_orders WHERE id IN (2, 7)",
      "INSERT INTO shop_orders (id, note) VALUES (0, 'a'), (20, 'a')")
    // Other changes of the table come first.
    query.write(insert(orders, Seq(10L)), correct(Nil, Seq(4L))((1L to 4L).map(order(_)): _*))
    assert(query.verified.endsWith("not compared: the epoch has other changes of the table up to (id 4)"))
    val before = "0 a" +: "1 A" +: (3 to 10).map(i => s"$i ${if (i == 6 || i == 8) "A" else "a"}").filter(_ != "7 a")
    assert(stored(f, "shop_orders").toSet == before.toSet + "20 a")
    query.write(correct(Nil, Seq(4L))((1L to 4L).map(order(_)): _*))
    val first = "2 rows equal, 1 different, 1 missing, 1 extra"
    assert(query.run.metrics("replaced").endsWith(s"shop_orders: $first, corrected up to (id 4)"))
    val keys = "different: (id 1); missing: (id 2); extra: (id 0)"
    assert(recorded(f) == s"0/30 | $first, corrected; $keys | (id 4) | null | 5")
    assert(stored(f, "shop_orders").toSet == before.drop(2).toSet ++ Seq("1 a", "2 a", "20 a"))
    // Changes since the copy: the value of a row that was updated, and of one whose key changed, was not sent.
    val moved = Seq(change(orders, "verify_delete", Seq(8L)), lacking(change(orders, "verify", Seq(11L))))
    val changes = Seq(lacking(change(orders, "verify_update", Seq(6L))), change(orders, "verify_delete", Seq(9L)))
    val last = of(80, correct(Seq(4L), Nil)((5L to 10L).map(order(_)) ++ changes ++ moved: _*))
    val Seq(one, other) = last.takeRight(3).init
    other.update(other.numFields - 1, one.getUTF8String(one.numFields - 1))
    write(f, query.run, 3, last)
    assert(query.run.metrics("replaced").contains(", corrected") && query.run.metrics("differingRows") == "0")
    val equal = Seq(1, 2, 3, 4, 5, 6, 7, 10, 11)
    assert(stored(f, "shop_orders").toSet == equal.map(i => s"$i a").toSet)
    write(f, query.run, 4, of(96, correct(Nil, Nil)(equal.map(i => order(i.toLong)): _*)))
    assert(recorded(f) == "0/60 | 9 rows equal, 0 different, 0 missing, 0 extra | null | 0/60 | 9")
  }

  onTables("a comparison that lacks a chunk has no result, and the next one begins again") { (f, query) =>
    query.write(insert(orders, (1L to 6L).map(Seq(_)): _*))
    def write(from: Long, to: Long): Unit =
      query.write(chunk(orders, Seq(from - 1).filter(_ > 0), Seq(to).filter(_ < 6))((from to to).map(order(_)): _*))
    write(1, 2)
    write(4, 5)
    val lost = "not compared: a chunk was not compared"
    assert(query.verified.endsWith(s"shop_orders: $lost up to (id 5)"))
    write(6, 6)
    assert(recorded(f) == s"0/30 | $lost | null | null | -1" && query.verified.endsWith(lost))
    write(3, 6)
    assert(recorded(f) == s"0/50 | $lost | null | null | -1")
    write(1, 2)
    write(1, 3)
    write(4, 6)
    assert(recorded(f) == "0/70 | 6 rows equal, 0 different, 0 missing, 0 extra | null | 0/70 | 6")
  }

  onTables("a chunk that is not compared leaves its comparison without a result, for the first reason") { (f, query) =>
    query.write(insert(orders, (1L to 6L).map(Seq(_)): _*))
    query.write(chunk(orders, Nil, Seq(2L))(order(1), order(2)))
    query.write(insert(orders, Seq(7L)), chunk(orders, Seq(2L), Seq(4L))(order(3), order(4)))
    val first = "not compared: the epoch has other changes of the table"
    assert(query.verified.endsWith(s"$first up to (id 4)"))
    query.write(chunk(orders, Seq(4L), Seq(5L))(order(6)))
    query.write(chunk(orders, Seq(5L), Nil)(order(6), order(7)))
    assert(recorded(f) == s"0/20 | $first | null | null | -1")
    query.write(chunk(orders, Nil, Seq(5L))(order(6)))
    assert(query.verified.endsWith("not compared: the epoch has rows outside the range of the chunk up to (id 5)"))
    query.write(chunk(orders, Nil, Seq(5L))((1L to 5L).map(order(_)): _*))
    query.write(chunk(orders, Seq(5L), Nil)(order(6), order(7)))
    assert(recorded(f) == "0/70 | 7 rows equal, 0 different, 0 missing, 0 extra | null | 0/70 | 7")
  }

  onTables("a bound alone changes nothing, and a history lacks it") { (f, query) =>
    val own =
      if (!isMysql) new Query(f, "historyTable" -> "{table}_changes", "createTable" -> "true") else query
    own.write(insert(orders, Seq(1L), Seq(2L)))
    own.write(Seq(change(orders, "verify_until", Seq(1L))))
    assert(recorded(f).startsWith("0/20 | not compared: the epoch has only a part of the rows | (id 1)"))
    own.write(Seq(change(orders, "verify_after", Seq(2L)), change(orders, "insert", Seq(3L), "a")))
    own.write(chunk(orders, Seq(1L), Seq(3L))(order(2), order(3)) ++ insert(items, key(1, 1L)))
    assert(stored(f, "shop_orders") == Seq("1 a", "2 a", "3 a") && stored(f, "shop_items") == Seq("1 1 a"))
    if (!isMysql)
      assert(
        f.database.query("SELECT id, _change_type FROM orders_changes ORDER BY id").map(_.mkString(" ")) ==
          Seq("1 insert", "2 insert", "3 insert"))
  }

  onTables("chunks of several tables are compared in one epoch, by keys of several columns in their order") {
    (f, query) =>
      // (line, id), and the key is (id, line).
      val keys = for (id <- 1L to 3L; line <- 1 to 3) yield key(line, id)
      query.write(insert(items, keys: _*), insert(orders, Seq(1L), Seq(2L)))
      def item(line: Int, id: Long) = row(items, key(line, id))
      f.database.execute(
        "UPDATE shop_items SET note = 'A' WHERE id = 2 AND line = 2",
        "INSERT INTO shop_items (line, id, note) VALUES (0, 2, 'a'), (9, 2, 'a'), (4, 1, 'a')")
      query.write(
        chunk(items, Nil, key(1, 2L))(item(1, 1), item(2, 1), item(3, 1), item(1, 2)),
        chunk(orders, Nil, Seq(1L))(order(1)))
      val first = "4 rows equal, 0 different, 0 missing, 2 extra"
      assert(query.verified.contains(s"shop_items: $first up to (id 2, line 1)"))
      assert(query.verified.contains("shop_orders: 1 row equal, 0 different, 0 missing, 0 extra up to (id 1)"))
      query.write(chunk(items, key(1, 2L), key(3, 2L))(item(2, 2), item(3, 2)), chunk(orders, Seq(1L), Nil)(order(2)))
      query.write(chunk(items, key(3, 2L), Nil)((1 to 3).map(item(_, 3)): _*))
      val found = "8 rows equal, 1 different, 0 missing, 3 extra; "
      assert(recorded(f, "items").startsWith(s"0/20 | $found"))
      assert(recorded(f, "items").contains("different: (line 2, id 2); extra: (line 9, id 2) | null"))
      assert(recorded(f) == "0/21 | 2 rows equal, 0 different, 0 missing, 0 extra | null | 0/21 | 2")
  }

  private def uuid(digits: String): String = s"$digits-0000-4000-8000-00000000000a"

  onTables("chunks are ranges of UUIDs") { (f, query) =>
    val ids = Seq("00000000", "09ffffff", "0a000000", "9fffffff", "a0000000", "ffffffff").map(uuid)
    query.write(insert(tokens, ids.map(Seq(_)): _*))
    def token(id: String) = row(tokens, Seq(id))
    f.database.execute(s"INSERT INTO shop_tokens (id, note) VALUES ('${uuid("9fffff00")}', 'a')")
    query.write(chunk(tokens, Nil, Seq(ids(1)))(ids.take(2).map(token): _*))
    assert(query.verified.endsWith(s"2 rows equal, 0 different, 0 missing, 0 extra up to (id ${ids(1)})"))
    query.write(chunk(tokens, Seq(ids(1)), Seq(ids(4)))(ids.slice(2, 5).map(token): _*))
    query.write(chunk(tokens, Seq(ids(4)), Nil)(token(ids(5))))
    val extra = s"6 rows equal, 0 different, 0 missing, 1 extra; extra: (id ${uuid("9fffff00")})"
    assert(recorded(f, "tokens") == s"0/20 | $extra | null | null | 7")
    if (uuidType.isEmpty) {
      query.write(chunk(tokens, Nil, Seq("10"))(token("1")))
      assert(query.verified.endsWith("not compared: id 10 is neither a whole number nor a UUID up to (id 10)"))
    }
  }

  onSchema(
    "a row without a key is in the last chunk",
    schema,
    ddl.map(_.replace("(id BIGINT NOT NULL PRIMARY KEY,", "(id BIGINT UNIQUE,")): _*) { f =>
    val query = new Query(f)
    query.write(insert(orders, Seq(1L), Seq(2L)))
    f.database.execute("INSERT INTO shop_orders (note) VALUES ('x')")
    query.write(chunk(orders, Nil, Seq(1L))(order(1)))
    assert(query.verified.endsWith("1 row equal, 0 different, 0 missing, 0 extra up to (id 1)"))
    query.write(chunk(orders, Seq(1L), Nil)(order(2)))
    assert(recorded(f).startsWith("0/20 | 2 rows equal, 0 different, 0 missing, 1 extra; extra: (id null) | null"))
    query.write(correct(Nil, Nil)(order(1), order(2, "b")))
    assert(recorded(f).contains("extra: (id null); not corrected: a row has no key |"))
    assert(stored(f, "shop_orders") == Seq("1 a", "2 a", "null x"))
  }

  private val itemDdl = "CREATE TABLE t (line INT NOT NULL, id BIGINT NOT NULL, note TEXT, PRIMARY KEY (id, line))"
  private val keyColumns =
    Map("sinkId" -> "sink", "mode" -> "changes", "keyColumns" -> "id,line") ++ databases.keyOptions

  private def item(kind: String, line: Any, id: Any, note: String = null): InternalRow =
    InternalRow(line, id, text(note), null, text(kind), null)

  private def itemPart(until: InternalRow, lines: Int*): Seq[InternalRow] =
    (item("verify_begin", null, null) +: lines.map(item("verify", _, 1L, "a"))) ++
      Seq(until, item("verify_end", null, null))

  protected def single(how: String, more: (String, String)*): Unit =
    onSchema(
      s"the table of a query is compared in chunks$how",
      StructType(tables(items).dataType.asInstanceOf[StructType] ++ feed),
      itemDdl) { f =>
      val run = f.newRun(query, keyColumns ++ more)
      write(f, run, 0, of(1, (1 to 3).map(item("insert", _, 1L, "a"))))
      write(f, run, 1, of(2, itemPart(item("verify_until", 2, 1L), 1, 2)))
      assert(run.metrics("verified").endsWith("t: 2 rows equal, 0 different, 0 missing, 0 extra up to (id 1, line 2)"))
      // The source's key lacks a column of the sink's key.
      write(f, run, 2, of(3, itemPart(item("verify_until", null, 1L), 1, 2)))
      val reason = "not compared: line null is neither a whole number nor a UUID"
      assert(run.metrics("verified").endsWith(s"t: $reason up to (id 1, line null)"))
      write(f, run, 3, of(4, itemPart(item("verify_after", null, 1L), 3)))
      assert(recorded(f, "t") == s"0/3 | $reason | null | null | -1")
      assert(stored(f, "t") == Seq("1 1 a", "2 1 a", "3 1 a"))
    }

  single("")

  onSchema(
    "chunks are not compared if the order of the columns of the key is unknown",
    StructType(
      Seq(StructField("line", IntegerType), StructField("id", LongType), StructField("note", StringType)) ++ feed),
    itemDdl) { f =>
    val run = f.newRun(query, keyColumns)
    write(f, run, 0, of(1, (1 to 3).map(item("insert", _, 1L, "a"))))
    write(f, run, 1, of(2, itemPart(item("verify_until", 2, 1L), 1, 2)))
    assert(run.metrics("verified").contains("not compared: the source's chunks are ranges of another key up to ("))
  }
}
