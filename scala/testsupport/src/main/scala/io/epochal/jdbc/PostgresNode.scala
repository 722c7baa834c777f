package io.epochal.jdbc

import java.io.File
import java.nio.file.{Files, Path, StandardCopyOption}
import java.sql.DriverManager
import java.util.concurrent.TimeUnit

import scala.util.Using

import io.epochal.support.Ports

/** A PostgreSQL server with a data directory and a port of its own, which a test may stop, start, copy and promote. It runs without
  * fsync, which takes most of the time of CREATE and DROP DATABASE and matters only in a crash of the operating system. PostgreSQL
  * refuses to run as root: then it runs as `nobody`.
  *
  * @param settings
  *   of the server, such as `fsync=on`, after the common ones
  */
final class PostgresNode private (bin: Path, settings: Seq[String]) extends AutoCloseable {
  import PostgresNode._

  private val home = TestServer.home("postgres")
  private val data = home.resolve("data").toString
  private var process = Option.empty[Process]
  TestServer.atExit(home)(process)

  val port: Int = Ports.free()
  val url: String = s"jdbc:postgresql://127.0.0.1:$port/postgres?user=postgres"

  /** Starts it, and waits until it accepts connections. */
  def start(): Unit = {
    val options = (Common ++ settings :+ s"port=$port").flatMap(Seq("-c", _))
    val log = home.resolve("log").toFile
    val started = command(Seq(bin.resolve("postgres").toString, "-D", data) ++ options: _*)
      .redirectErrorStream(true)
      .redirectOutput(ProcessBuilder.Redirect.appendTo(log))
      .start()
    process = Some(started)
    TestServer.await(started, url, log.toPath)
  }

  /** Stops it without waiting for its clients. */
  def stop(): Unit = signal("INT")

  /** Stops it as in a crash: it recovers at its next start. */
  def crash(): Unit = signal("QUIT")

  private def signal(name: String): Unit = process.foreach { server =>
    program("kill", s"-$name", server.pid.toString)
    require(server.waitFor(60, TimeUnit.SECONDS), s"PostgreSQL at $url does not stop")
  }

  /** A server with the same files; this one is stopped. */
  def copy(): PostgresNode = {
    val copied = new PostgresNode(bin, settings)
    program("cp", "-a", data, copied.data)
    copied
  }

  /** A standby that is not started yet, with a slot for its connection. */
  def standby(slot: String, settings: String*): PostgresNode = {
    val from = s"host=127.0.0.1 port=$port user=postgres"
    val made = new PostgresNode(bin, settings :+ s"primary_conninfo=$from dbname=postgres application_name=$slot")
    program(bin.resolve("pg_basebackup").toString, "-d", from, "-D", made.data, "-R", "-C", "-S", slot, "-c", "fast")
    made
  }

  /** Runs statements in autocommit mode. */
  def run(sql: String*): Unit = Using.resource(DriverManager.getConnection(url))(connection =>
    Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_))))

  def text(query: String): String = Using.resource(DriverManager.getConnection(url)) { connection =>
    val rows = connection.createStatement().executeQuery(query)
    rows.next()
    rows.getString(1)
  }

  /** Creates a role whose logins need a password. */
  def requirePassword(role: String): Unit = run(
    s"CREATE ROLE $role LOGIN",
    s"""COPY (VALUES ('host all $role 127.0.0.1/32 scram-sha-256'), ('host all all 127.0.0.1/32 trust'),
       |  ('host replication all 127.0.0.1/32 trust')) TO '$data/pg_hba.conf'""".stripMargin,
    "SELECT pg_reload_conf()"
  )

  /** Changes the password of a role, replaces the file that holds it, and ends the sessions of the old one. */
  def renewPassword(role: String, file: Path, password: String): Unit = {
    run(s"ALTER ROLE $role PASSWORD '$password'")
    replacePassword(file, password)
    run(s"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '$role'")
  }

  override def close(): Unit = TestServer.stop(process, home)
}

object PostgresNode {

  /** At once, so that nobody reads an empty file. */
  def replacePassword(file: Path, password: String): Unit = {
    val written = Files.writeString(file.resolveSibling(s"${file.getFileName}.new"), s"$password\n")
    Files.move(written, file, StandardCopyOption.ATOMIC_MOVE): Unit
  }

  private val Common = Seq(
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "shared_buffers=64MB",
    "max_prepared_transactions=16",
    "wal_level=logical",
    "max_replication_slots=40",
    "max_wal_senders=40",
    "fsync=off",
    "log_min_messages=warning"
  )

  /** A running server. */
  def start(bin: Path): PostgresNode = {
    val node = new PostgresNode(bin, Nil)
    val options = Seq("-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "-N")
    program(Seq(bin.resolve("initdb").toString, "-D", node.data) ++ options: _*)
    node.start()
    node
  }

  private def command(words: String*): ProcessBuilder = {
    val asUser = if (TestServer.isRoot) Seq("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups") else Nil
    new ProcessBuilder((asUser ++ words): _*).directory(new File("/tmp"))
  }

  /** Runs a program to its end. */
  private[jdbc] def program(words: String*): Unit = {
    val started = command(words: _*).redirectErrorStream(true).start()
    val output = new String(started.getInputStream.readAllBytes())
    if (started.waitFor() != 0) throw new IllegalStateException(s"${words.mkString(" ")}: $output")
  }
}
