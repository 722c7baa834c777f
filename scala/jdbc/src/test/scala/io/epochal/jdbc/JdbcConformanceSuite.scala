package io.epochal.jdbc

import org.scalatest.tags.Slow

import io.epochal.jdbc.option.JdbcOptions
import io.epochal.testkit.{SinkChecks, SinkFixture}

/** The contract of every exactly-once sink, on each database and with each transport. */
abstract class JdbcConformance(databases: TestDatabases) extends SinkChecks {
  override def sinkName: String = s"${JdbcOptions.Format} on ${databases.kind}"

  override def newFixture(): SinkFixture = {
    val database = databases.newDatabase()
    database.execute("CREATE TABLE t (id BIGINT NOT NULL, word TEXT)")
    new JdbcSinkFixture(database)
  }
}

final class SqliteConformanceSuite extends JdbcConformance(Sqlite)
@Slow
final class MariadbConformanceSuite extends JdbcConformance(Mariadb)
@Slow
final class Mysql8ConformanceSuite extends JdbcConformance(Mysql8)
@Slow
final class Mysql8ByMariadbConformanceSuite extends JdbcConformance(Mysql8ByMariadb)
final class GenericConformanceSuite extends JdbcConformance(InProcess.H2)
final class PostgresConformanceSuite extends JdbcConformance(Postgres)
final class StagedConformanceSuite extends JdbcConformance(PostgresBy.staged)
@Slow
final class PreparedConformanceSuite extends JdbcConformance(PostgresBy.prepared)

// The oldest supported version.
@Slow
final class Postgres13ConformanceSuite extends JdbcConformance(Postgres13)
@Slow
final class Staged13ConformanceSuite extends JdbcConformance(PostgresBy.staged(Postgres13))
@Slow
final class Prepared13ConformanceSuite extends JdbcConformance(PostgresBy.prepared(Postgres13))
