package io.epochal.jdbc

import java.{lang, util}

import scala.jdk.CollectionConverters._

import org.scalatest.tags.Slow

import io.epochal.jdbc.option.JdbcOptions
import io.epochal.support.QueryConformance
import io.epochal.testkit.{Conformance, FormatSink}

/** The sink in queries that are stopped and killed. */
abstract class JdbcQueryConformance(databases: TestDatabases, modes: String*)
    extends QueryConformance(
      Conformance.sink(
        s"${JdbcOptions.Format} in queries, ${databases.kind}",
        () => new JdbcFormatFixture(databases.newDatabase(), modes)))

final class SqliteQueryConformanceSuite extends JdbcQueryConformance(Sqlite)
@Slow
final class PostgresQueryConformanceSuite extends JdbcQueryConformance(Postgres, "continuous", "real-time")

/** The table `t` of an empty database. */
final class JdbcFormatFixture(database: TestDatabase, others: Seq[String]) extends FormatSink(JdbcOptions.Format) {
  database.execute("CREATE TABLE t (id BIGINT NOT NULL)")

  override def options: util.Map[String, String] = database.options("t").asJava

  override def stored(): util.List[lang.Long] =
    database.query("SELECT id FROM t").map(row => Long.box(row.head.asInstanceOf[Number].longValue)).asJava

  override def modes: util.Set[String] = others.toSet.asJava

  override def close(): Unit = database.close()
}
