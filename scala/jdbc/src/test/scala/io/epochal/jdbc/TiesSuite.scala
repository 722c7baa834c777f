package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString
import org.scalatest.tags.Slow

final class PostgresTiesSuite extends Ties(Postgres)
final class StagedTiesSuite extends Ties(PostgresBy.staged)
final class SqliteTiesSuite extends Ties(Sqlite)
@Slow
final class MariadbTiesSuite extends Ties(Mariadb)

/** Changes to one key with the same order. */
abstract class Ties(databases: TestDatabases) extends SinkSuite(databases) {
  private val schema = new StructType().add("op", StringType).add("id", LongType).add("version", IntegerType)

  onSchema(
    "of a store and a delete with the same order the store wins, in either sequence",
    schema,
    "CREATE TABLE t (id BIGINT PRIMARY KEY, version INT)") { f =>
    val run = f.newRun(
      query,
      Map(
        "sinkId" -> "sink",
        "mode" -> "changes",
        "keyColumns" -> "id",
        "opColumn" -> "op",
        "orderColumn" -> "version"))
    def row(op: String, id: Long) = InternalRow(fromString(op), id, 1)
    write(f, run, 0, (0L until 200L).map(row("i", _)))
    val pairs =
      (0L until 200L).map(id => if (id % 2 == 0) Seq(row("i", id), row("d", id)) else Seq(row("d", id), row("i", id)))
    write(f, run, 1, pairs.flatten)
    holds(f, 0 until 200)
  }
}
