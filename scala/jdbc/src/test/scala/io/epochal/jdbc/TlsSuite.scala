package io.epochal.jdbc

import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class PostgresTlsSuite extends TlsChecks(Postgres, "sslmode")
@Slow
final class MariadbTlsSuite extends TlsChecks(Mariadb, "sslMode")

/** The URL's parameters for TLS, and those of `connection.*`, hold for every connection. */
abstract class TlsChecks(databases: TestDatabases, parameter: String) extends SinkSuite(databases) {

  on("a server that cannot prove who it is, or has no TLS, is not written to", table) { f =>
    val before = f.newRun(query)
    write(f, before, 0, numbers(f, 0 until 10))
    val asked =
      Seq(Map("url" -> s"${f.database.url}&$parameter=verify-full"), Map(s"connection.$parameter" -> "verify-full"))
    asked.foreach { options =>
      val error = refused(Conditions.DatabaseUnreachable)(f.newRun(query, Map("sinkId" -> "sink") ++ options))
      assert(error.getMessage.toLowerCase(java.util.Locale.ROOT).contains("ssl"))
    }
    holds(f, 0 until 10)
    assert(ledger(f, "generation") == 1L)
  }
}
