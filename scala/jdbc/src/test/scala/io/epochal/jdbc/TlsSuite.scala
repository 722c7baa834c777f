package io.epochal.jdbc

import org.scalatest.tags.Slow

import io.epochal.core.error.Conditions

final class PostgresTlsSuite extends TlsChecks(Postgres, "sslmode")
@Slow
final class MariadbTlsSuite extends TlsChecks(Mariadb, "sslMode")

/** TLS parameters of the URL and of `connection.*` apply to every connection. */
abstract class TlsChecks(databases: TestDatabases, parameter: String) extends SinkSuite(databases) {

  on("a server that cannot prove its identity, or lacks TLS, receives no rows", table) { f =>
    val before = f.newRun(query)
    write(f, before, 0, numbers(f, 0 until 10))
    val settings =
      Seq(Map("url" -> s"${f.database.url}&$parameter=verify-full"), Map(s"connection.$parameter" -> "verify-full"))
    settings.foreach { options =>
      val error = refused(Conditions.DatabaseUnreachable)(f.newRun(query, Map("sinkId" -> "sink") ++ options))
      assert(error.getMessage.toLowerCase(java.util.Locale.ROOT).contains("ssl"))
    }
    holds(f, 0 until 10)
    assert(ledger(f, "generation") == 1L)
  }
}
