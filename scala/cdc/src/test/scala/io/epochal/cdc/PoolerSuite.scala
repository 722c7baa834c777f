package io.epochal.cdc

import java.net.{Socket, URI}
import java.nio.file.{Files, Paths}
import java.sql.DriverManager

import scala.util.Using

import org.scalatest.time.{Minutes, Span}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.TestServer
import io.epochal.support.Ports

/** A query that connects to pgbouncer. */
final class PoolerSuite extends CdcQueries {

  private lazy val program = Seq("/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer")
    .find(path => Files.isExecutable(Paths.get(path)))
    .getOrElse(TestServer.missing("pgbouncer")("pgbouncer is not installed"))

  /** Gives the URL of a pooler in front of the server. */
  private def pooled(shop: Shop, mode: String)(body: String => Any): Unit = {
    val (home, port, place) = (TestServer.home("pgbouncer"), Ports.free(), URI.create(shop.url.stripPrefix("jdbc:")))
    Files.writeString(home.resolve("users"), "\"postgres\" \"\"\n")
    Files.writeString(
      home.resolve("pgbouncer.ini"),
      Seq(
        "[databases]",
        s"* = host=${place.getHost} port=${place.getPort}",
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        s"listen_port = $port",
        "unix_socket_dir =",
        "auth_type = trust",
        s"auth_file = $home/users",
        s"pool_mode = $mode",
        "ignore_startup_parameters = extra_float_digits"
      ).mkString("", "\n", "\n")
    )
    val user = if (TestServer.isRoot) Seq("-u", "nobody") else Nil
    val server = new ProcessBuilder(((program +: user) :+ s"$home/pgbouncer.ini"): _*)
      .redirectErrorStream(true)
      .redirectOutput(home.resolve("log").toFile)
      .start()
    try {
      eventually(timeout(Span(1, Minutes)))(new Socket("127.0.0.1", port).close())
      body(s"jdbc:postgresql://127.0.0.1:$port/${shop.name}?user=postgres"): Unit
    } finally TestServer.stop(Some(server), home)
  }

  private def refusal(shop: Shop, url: String): EpochalException =
    refused(Conditions.PoolerRefused)(shop.read("url" -> url))

  test("a pooler that shares sessions is refused, and no session is changed") {
    Using.resource(new Shop) { shop =>
      pooled(shop, "transaction") { url =>
        assert(refusal(shop, url).values("reason").contains("share"))
        Using.resource(DriverManager.getConnection(url)) { connection =>
          val rows = connection.createStatement().executeQuery("SHOW search_path")
          assert(rows.next() && rows.getString(1).contains("public"))
        }
      }
    }
  }

  test("a pooler that keeps sessions apart is refused if it passes no replication") {
    Using.resource(new Shop) { shop =>
      pooled(shop, "session") { url =>
        assert(refusal(shop, url).values("reason").contains("replication"))
      }
    }
  }
}
