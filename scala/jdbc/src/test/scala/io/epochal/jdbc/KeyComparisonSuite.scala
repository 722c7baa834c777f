package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class SqliteKeyComparisonSuite extends KeyComparisons(Sqlite) {
  loose("a NOCASE column", "collation NOCASE", "a", "A")("id BIGINT, word TEXT COLLATE NOCASE PRIMARY KEY")
  loose("an RTRIM column", "collation RTRIM", "a", "a ")("id BIGINT, word TEXT COLLATE RTRIM PRIMARY KEY")
  loose("a NOCASE index on a column of another collation", "collation NOCASE", "a", "A")(
    "id BIGINT, word TEXT)",
    "CREATE UNIQUE INDEX i ON t (word COLLATE NOCASE")
  loose("a NOCASE index beside a binary one", "collation NOCASE", "a", "A")(
    "id BIGINT, word TEXT PRIMARY KEY)",
    "CREATE UNIQUE INDEX i ON t (word COLLATE NOCASE")
}

@Slow
final class MariadbKeyComparisonSuite extends KeyComparisons(Mariadb) {
  private def word(collation: String) =
    s"id BIGINT, word VARCHAR(20) CHARACTER SET utf8mb4 COLLATE $collation PRIMARY KEY"
  loose("a _ci column", "collation utf8mb4_general_ci", "a", "A")(word("utf8mb4_general_ci"))
  loose("a NOPAD column that ignores case", "collation utf8mb4_general_nopad_ci", "a", "A")(
    word("utf8mb4_general_nopad_ci"))
  loose("a PAD SPACE column", "collation utf8mb4_bin", "a", "a ")(word("utf8mb4_bin"))
  exact("a NOPAD column", word("utf8mb4_nopad_bin"))
  exact(
    "a NOPAD column of another character set",
    "id BIGINT, word VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_nopad_bin PRIMARY KEY")
}

/** On a release without a collation for keys. */
@Slow
final class Mysql8KeyComparisonSuite extends KeyComparisons(Mysql8) {
  override protected def makesExact = false
  loose("a _ci column", "collation utf8mb4_0900_ai_ci", "a", "A")("id BIGINT, word VARCHAR(20) PRIMARY KEY")
  loose("a PAD SPACE column", "collation utf8mb4_bin", "a", "a ")(
    "id BIGINT, word VARCHAR(20) COLLATE utf8mb4_bin PRIMARY KEY")

  onSchema("a table with a text key is refused by name before it is created", schema) { f =>
    val error = refused(Conditions.ModeUnsupported)(f.newRun(query, keyed + ("createTable" -> "true")))
    assert(error.getMessage.contains("8.0.12") && error.getMessage.contains("8.0.17"))
    assert(f.database.query("SHOW TABLES").isEmpty)
  }
}

final class PostgresKeyComparisonSuite extends PostgresKeyComparisons(Postgres)
@Slow
final class StagedKeyComparisonSuite extends PostgresKeyComparisons(PostgresBy.staged)
@Slow
final class IcuKeyComparisonSuite extends IcuKeyComparisons(PostgresIcu)
@Slow
final class OldestKeyComparisonSuite extends IcuKeyComparisons(Postgres13)

abstract class PostgresKeyComparisons(databases: TestDatabases) extends KeyComparisons(databases) {
  loose("a citext column", "type citext", "a", "A", "CREATE EXTENSION citext")("id BIGINT, word citext PRIMARY KEY")
  loose("a domain over citext", "type label", "a", "A", "CREATE EXTENSION citext", "CREATE DOMAIN label AS citext")(
    "id BIGINT, word label PRIMARY KEY")
  loose("a char(n) column", "type character(3)", "a", "a ")("id BIGINT, word char(3) PRIMARY KEY")
  exact("a varchar column", "id BIGINT, word VARCHAR(20) PRIMARY KEY")
}

abstract class IcuKeyComparisons(databases: TestDatabases) extends KeyComparisons(databases) {
  private val ci = "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
  loose("a column with a nondeterministic collation", "collation ci", "a", "A", ci)(
    "id BIGINT, word TEXT COLLATE ci PRIMARY KEY")
  loose("an index with a nondeterministic collation", "collation ci", "a", "A", ci)(
    "id BIGINT, word TEXT)",
    "CREATE UNIQUE INDEX i ON t (word COLLATE ci")
  exact("a column with an ICU collation", "id BIGINT, word TEXT COLLATE \"en-US-x-icu\" PRIMARY KEY")
}

/** Keys that the database treats as equal though Spark distinguishes them: one row would replace another. */
abstract class KeyComparisons(databases: TestDatabases) extends SinkSuite(databases) {
  protected def schema: StructType = new StructType().add("id", LongType).add("word", StringType)
  protected def keyed: Map[String, String] = Map("sinkId" -> "sink", "keyColumns" -> "word")
  private def accepted: Map[String, String] = keyed + ("keyComparison" -> "database")

  private def rows(pairs: (Long, String)*) = pairs.map { case (id, word) => InternalRow(id, fromString(word)) }

  /** @param one
    *   equal to `two` in the database
    * @param columns
    *   of the table, followed by the rest of its definition
    */
  protected def loose(what: String, by: String, one: String, two: String, before: String*)(columns: String*): Unit = {
    val ddl = before ++ columns.zipWithIndex
      .map { case (sql, i) => if (i == 0) s"CREATE TABLE t ($sql" else sql }
      .map(sql => if (sql.count(_ == '(') > sql.count(_ == ')')) s"$sql)" else sql)

    onSchema(s"$what as key is refused by name before the query writes", schema, ddl: _*) { f =>
      val error = refused(Conditions.KeyComparisonMismatch)(f.newRun(query, keyed))
      assert(error.values("column") == "word" && error.values("comparison") == by)
      f.newRun(query, Map("sinkId" -> "sink"))
    }

    if (!what.contains("index"))
      onSchema(s"$what as accepted key is compared as the database compares it", schema, ddl: _*) { f =>
        val run = f.newRun(query, accepted)
        write(f, run, 0, rows(1L -> one, 2L -> "b"))
        write(f, run, 1, rows(3L -> two, 4L -> "c"))
        holdsIds(f, 2, 3, 4)
        refused(Conditions.DuplicateKeys)(write(f, run, 2, rows(5L -> one, 6L -> two)))
        write(f, f.newRun(query, accepted + ("orderColumn" -> "id")), 2, rows(6L -> one, 5L -> two))
        holdsIds(f, 2, 4, 6)
      }
  }

  protected def exact(what: String, columns: String): Unit =
    onSchema(s"$what as key distinguishes what Spark does", schema, s"CREATE TABLE t ($columns)")(tellsApart(_, keyed))

  /** Whether the server has a type that compares texts as Spark does. */
  protected def makesExact: Boolean = true

  if (makesExact) onSchema("a key of a table made by createTable distinguishes what Spark does", schema) { f =>
    tellsApart(f, keyed + ("createTable" -> "true"))
    f.newRun(query, keyed)
  }

  private def tellsApart(f: JdbcSinkFixture, options: Map[String, String]): Unit = {
    val words = Seq("a", "A", "a ", "a  ", "\u00e4", "\u00c4", "")
    val run = f.newRun(query, options)
    val all = rows(words.zipWithIndex.map { case (word, i) => i.toLong -> word }: _*)
    (0L to 1L).foreach(write(f, run, _, all))
    holdsIds(f, words.indices: _*)
  }

  private def holdsIds(f: JdbcSinkFixture, ids: Int*): Unit = {
    assert(f.numbers.sorted == ids.map(_.toLong))
    ()
  }
}
