package io.epochal.jdbc

import java.sql.SQLException

import example.dialect.H2Dialect
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.scalatest.tags.Slow

import io.epochal.core.retry.Verdict
import io.epochal.jdbc.dialect.{AuthoredDialect, Dialects}

/** With another team's dialect the sink keeps every promise. */
@Slow
final class AuthoredDialectConformanceSuite extends JdbcConformance(AuthoredDialectSuite.databases)

final class AuthoredDialectSuite extends SinkSuite(AuthoredDialectSuite.databases) {

  test("another team's dialect is found by its service file, for its own URLs only") {
    def of(url: String): Option[AuthoredDialect] = Dialects.of(url).collect { case one: AuthoredDialect => one }
    assert(of("jdbc:h2:mem:dialect1").exists(_.author.isInstanceOf[H2Dialect]) && of("jdbc:h2:mem:test1").isEmpty)
    val dialect = of("jdbc:h2:mem:dialect1").get
    assert(dialect.errors.verdict(new SQLException("changed", "90131", 90131)) == Verdict.Retry)
    assert(dialect.errors.verdict(new SQLException("syntax", "42000", 42000)) == Verdict.GiveUp)
  }

  onSchema(
    "a created column has the dialect's type, and a transaction its settings",
    new StructType().add("id", LongType).add("word", StringType)) { f =>
    write(f, f.newRun(query, Map("sinkId" -> "sink", "createTable" -> "true")), 0, numbers(f, 0 until 3))
    holds(f, 0 until 3)
    val types = "SELECT data_type, character_maximum_length FROM information_schema.columns WHERE table_name = 't'"
    assert(
      f.database.query(s"$types AND column_name = 'word'").map(_.map(_.toString)) == Seq(
        Seq("character varying", "1000000")))
  }
}

object AuthoredDialectSuite {
  val databases = new InProcess(
    "H2 by a dialect of its own",
    n => s"jdbc:h2:mem:dialect$n;DB_CLOSE_DELAY=-1;DATABASE_TO_LOWER=TRUE;CASE_INSENSITIVE_IDENTIFIERS=TRUE",
    "SHUTDOWN")
}
