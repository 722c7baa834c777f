package io.epochal.cdc

import scala.util.Using

import io.epochal.jdbc.{PostgresServer, TestServer}

/** A password that is renewed while a query runs, as by a sidecar that keeps a token file. */
final class RenewedPasswordSuite extends CdcQueries {

  test("the snapshot, the replication connection and the heartbeats of a capture use the renewed password") {
    Using.resource(PostgresServer.node().fold(TestServer.missing("postgres"), identity)) { node =>
      withTempDir { dir =>
        val file = dir.toPath.resolve("password")
        node.requirePassword("capture")
        def renew(password: String): Unit = node.renewPassword("capture", file, password)
        renew("first")
        node.run(
          "ALTER ROLE capture REPLICATION",
          "CREATE TABLE orders (id int PRIMARY KEY, note text)",
          "ALTER TABLE orders OWNER TO capture",
          "GRANT CREATE ON DATABASE postgres TO capture",
          "INSERT INTO orders SELECT i, 'a' FROM generate_series(1, 3) i"
        )
        val rows = spark.readStream
          .format("epochal-cdc")
          .options(
            Map(
              "url" -> node.url.replace("user=postgres", "user=capture"),
              "dbtable" -> "public.orders",
              "slot" -> "orders",
              "passwordFile" -> file.toString,
              "heartbeatInterval" -> "100ms",
              "numPartitions" -> "1"))
          .load()
        def ids: Seq[Any] = changes("cdc_password").map(_._2).sortBy(_.toString)
        renew("second")
        stopped(start(rows, "cdc_password", dir.toPath.resolve("checkpoint").toString)) {
          val query = spark.streams.active.head
          until(query)(assert(ids == Seq(1, 2, 3)))
          renew("third")
          node.run("INSERT INTO orders VALUES (4, 'b')")
          until(query)(assert(ids == Seq(1, 2, 3, 4)))
          // Only heartbeats move the slot now.
          val end = node.text("SELECT pg_current_wal_lsn()")
          until(query)(
            assert(node.text(
              s"SELECT confirmed_flush_lsn > '$end' FROM pg_replication_slots WHERE slot_name = 'orders'") == "t"))
        }
      }
    }
  }
}
