package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class PostgresTextOrderSuite extends PostgresTextOrder(Postgres)
@Slow
final class StagedTextOrderSuite extends PostgresTextOrder(PostgresBy.staged)
@Slow
final class IcuTextOrderSuite extends PostgresTextOrder(PostgresIcu)
@Slow
final class StagedIcuTextOrderSuite extends PostgresTextOrder(PostgresBy.staged(PostgresIcu))

@Slow
final class ColumnIcuTextOrderSuite extends TextOrder(Postgres13) {
  sorted("a column with an ICU collation", "TEXT COLLATE \"en-US-x-icu\"")
}

final class SqliteTextOrderSuite extends TextOrder(Sqlite) {
  sorted("a NOCASE column", "TEXT COLLATE NOCASE")
  sorted("an RTRIM column", "TEXT COLLATE RTRIM")

  onSchema(
    "texts of a database in UTF-16 are not sorted as Spark sorts them, and refused",
    schema,
    "PRAGMA encoding = 'UTF-16le'",
    ddl("TEXT")) { f =>
    refused(Conditions.ModeUnsupported)(f.newRun(query, ordered))
  }
}

@Slow
final class MariadbTextOrderSuite extends MysqlTextOrder(Mariadb)
@Slow
final class Mysql8TextOrderSuite extends MysqlTextOrder(Mysql8)

abstract class MysqlTextOrder(databases: TestDatabases) extends TextOrder(databases) {
  sorted("a _ci column", "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
  sorted("a PAD SPACE column", "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
  sorted(
    "a column of another character set",
    "VARCHAR(50) CHARACTER SET latin1 COLLATE latin1_swedish_ci",
    onlyLatin = true)
}

abstract class PostgresTextOrder(databases: TestDatabases) extends TextOrder(databases) {
  sorted("a varchar column", "VARCHAR(50)")
  sorted("a domain's column", "label", "CREATE DOMAIN label AS text")

  onSchema("a text in a numeric column is not sorted as Spark sorts texts, and refused", schema, ddl("NUMERIC")) { f =>
    refused(Conditions.ModeUnsupported)(f.newRun(query, ordered))
  }

  onSchema("of several changes to a key the last by the text's bytes wins", schema.add("op", StringType), ddl("TEXT")) {
    f =>
      val run = f.newRun(query, ordered ++ Map("mode" -> "changes", "opColumn" -> "op"))
      def row(id: Long, version: String, op: String) = InternalRow(id, fromString(version), fromString(op))
      write(f, run, 0, Seq(row(1, "a", "d"), row(1, "B", "i"), row(2, "a", "i"), row(2, "B", "d")))
      holds(f, 2 to 2)
  }
}

/** `orderColumn` on a text: the greatest by bytes wins, as in Spark, regardless of the database's collations. */
abstract class TextOrder(databases: TestDatabases) extends SinkSuite(databases) {
  protected val schema: StructType = new StructType().add("id", LongType).add("version", StringType)
  protected val ordered: Map[String, String] = Map("sinkId" -> "sink", "keyColumns" -> "id", "orderColumn" -> "version")
  protected def ddl(kind: String): String = s"CREATE TABLE t (id BIGINT PRIMARY KEY, version $kind)"

  sorted("a text column", "TEXT")

  protected def sorted(what: String, kind: String, more: String*): Unit =
    sorted(what, kind, onlyLatin = false, more: _*)

  protected def sorted(what: String, kind: String, onlyLatin: Boolean, more: String*): Unit =
    onSchema(s"$what is ordered as Spark orders texts", schema, more :+ ddl(kind): _*) { f =>
      val latin = Seq("a", "B", "A", "b", "a ", "é", "f", "", "10", "9", "a-b", "ab", "Z", "-z")
      val texts = if (onlyLatin) latin else latin ++ Seq("\uffee", "\ud83d\ude42", "ß", "ss")
      val pairs = for { one <- texts; two <- texts if one != two } yield Seq(one, two)
      val rows = pairs.zipWithIndex.flatMap { case (pair, id) =>
        pair.map(version => InternalRow(id.toLong, fromString(version)))
      }
      write(f, f.newRun(query, ordered), 0, rows)
      val kept = f.database.query("SELECT id, version FROM t ORDER BY id").map(_(1).toString)
      val wanted = pairs.map(_.map(fromString).max(Ordering.fromLessThan[UTF8String](_.binaryCompare(_) < 0)).toString)
      assert(pairs.zip(kept).zip(wanted).filter { case ((_, found), expected) => found != expected }.isEmpty)
    }
}
