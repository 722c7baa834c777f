package io.epochal.jdbc

import io.epochal.jdbc.option.JdbcOptions
import io.epochal.testkit.{SinkChecks, SinkFixture}

/** What every exactly-once sink must do, on each database and by each transport. */
abstract class JdbcConformance(databases: TestDatabases) extends SinkChecks {
  override def sinkName: String = s"${JdbcOptions.Format} on ${databases.kind}"

  override def newFixture(): SinkFixture = {
    val database = databases.newDatabase()
    database.execute("CREATE TABLE t (id BIGINT NOT NULL, word TEXT)")
    new JdbcSinkFixture(database)
  }
}

final class SqliteConformanceSuite extends JdbcConformance(Sqlite)
final class MariadbConformanceSuite extends JdbcConformance(Mariadb)
final class Mysql8ConformanceSuite extends JdbcConformance(Mysql8)
final class Mysql8ByMariadbConformanceSuite extends JdbcConformance(Mysql8ByMariadb)
final class GenericConformanceSuite extends JdbcConformance(InProcess.H2)
final class PostgresConformanceSuite extends JdbcConformance(Postgres)
final class StagedConformanceSuite extends JdbcConformance(PostgresBy.staged)
final class PreparedConformanceSuite extends JdbcConformance(PostgresBy.prepared)

// The oldest line.
final class Postgres13ConformanceSuite extends JdbcConformance(Postgres13)
final class Staged13ConformanceSuite extends JdbcConformance(PostgresBy.staged(Postgres13))
final class Prepared13ConformanceSuite extends JdbcConformance(PostgresBy.prepared(Postgres13))
