package io.epochal.jdbc

import java.nio.file.{Files, Path}
import java.sql.DriverManager
import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger
import java.util.{Locale, Properties}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try, Using}

import org.scalatest.BeforeAndAfterAll
import org.scalatest.tags.Slow

import io.epochal.jdbc.database.ConnectionPool
import io.epochal.support.Fuzz
import io.epochal.support.Fuzz.{one, some}

@Slow
final class PostgresFuzzedOptionsSuite extends FuzzedOptions(Postgres)
@Slow
final class StagedFuzzedOptionsSuite extends FuzzedOptions(PostgresBy.staged(Postgres13))
final class SqliteFuzzedOptionsSuite extends FuzzedOptions(Sqlite)
@Slow
final class MariadbFuzzedOptionsSuite extends FuzzedOptions(Mariadb)
@Slow
final class MysqlFuzzedOptionsSuite extends FuzzedOptions(Mysql8)
@Slow
final class H2FuzzedOptionsSuite extends FuzzedOptions(InProcess.H2)
@Slow
final class HsqldbFuzzedOptionsSuite extends FuzzedOptions(InProcess.Hsqldb)

/** Random names and options, hostile ones among them: an epoch is written to the one table that they name, or fails with a
  * condition. Nothing else in the database changes, and no class or file is created.
  */
abstract class FuzzedOptions(databases: TestDatabases) extends SinkSuite(databases) with Fuzz with BeforeAndAfterAll {

  private lazy val database: TestDatabase = {
    val made = databases.newDatabase()
    made.execute("CREATE TABLE canary (id BIGINT)", "INSERT INTO canary VALUES (7)")
    opened = Some(made)
    made
  }
  private var opened = Option.empty[TestDatabase]
  private val directory = Files.createTempDirectory("fuzz")
  private val number = new AtomicInteger

  override def afterAll(): Unit = {
    opened.foreach(_.close())
    org.apache.commons.io.FileUtils.deleteDirectory(directory.toFile)
  }

  private val letters =
    "abzAZ09_ \"'`.,;:()[]{}%$?\\/\t\n\r-@#!|*=&<>~^\u0000\u0007\u00a0\u0130\u0131\u00e9\u65e5\u2028\ufeff\ud83d".toSeq
  private val hostile = Seq(
    "canary",
    "t; DROP TABLE canary",
    "t\"; DROP TABLE canary; --",
    "t`; DROP TABLE canary; -- ",
    "t' OR '1'='1",
    "t) VALUES (1); DELETE FROM canary; --",
    "\"",
    "\"\"",
    "``",
    "'",
    "\\",
    "\\'",
    "t /* ",
    "t--",
    "$$",
    "$1",
    "?",
    "%s",
    "$" + "{jndi:ldap://127.0.0.1/x}",
    "epochal_ledger",
    "pg_catalog.pg_class",
    "information_schema.tables",
    "sqlite_master",
    "a.b.c.d",
    "..",
    ".",
    "",
    " ",
    "x" * 63,
    "x" * 64,
    "x" * 300,
    "\u00e9" * 40,
    "\ud83d\ude00" * 20,
    "\ud800"
  )

  private def text(random: Random): String = random.nextInt(4) match {
    case 0 => one(random, hostile)
    case 1 => one(random, hostile) + text(random)
    case 2 => s"t${number.incrementAndGet()}"
    case _ => Seq.fill(1 + random.nextInt(12))(one(random, letters)).mkString
  }

  private def identifier(random: Random): String =
    if (random.nextBoolean()) text(random) else "\"" + text(random).replace("\"", "\"\"") + "\""

  private def tables: Set[String] = Using.resource(database.connect()) { connection =>
    val found = connection.getMetaData.getTables(connection.getCatalog, null, "%", Array("TABLE", "BASE TABLE", "VIEW"))
    Iterator.continually(found).takeWhile(_.next()).map(row => s"${row.getString(2)}.${row.getString(3)}").toSet
  }

  /** Asserts that only the sink's own tables, the target and the dead-letter table are new. */
  private def unharmed(before: Set[String]): Unit = {
    assert(database.query("SELECT id FROM canary").map(_.mkString) == Seq("7"))
    val now = tables
    assert(before.diff(now).forall(_.toLowerCase.contains("epochal_")), before.diff(now))
    val made = now.diff(before).filterNot(_.toLowerCase.contains(".epochal_"))
    assert(made.size <= 2, made)
  }

  private def writeTo(on: TestDatabase, options: Map[String, String]): Unit = {
    val fixture = new JdbcSinkFixture(on)
    try write(fixture, fixture.newRun(query, options), 0, numbers(fixture, 0 until 2))
    finally org.apache.commons.io.FileUtils.deleteDirectory(fixture.checkpoint.toFile)
  }

  fuzz(s"${databases.kind}: no name of a table, column or sink makes the sink write anything else") { random =>
    val before = tables
    val own = Map(
      "dbtable" -> identifier(random),
      "sinkId" -> text(random),
      "createTable" -> "true",
      "retry.maxAttempts" -> "2",
      "lockTimeout" -> "2s")
    val more = some(
      random,
      Seq(
        "columnMap" -> s"id:${identifier(random)}",
        "columnMap" -> identifier(random),
        "keyColumns" -> one(random, Seq("id", identifier(random))),
        "orderColumn" -> identifier(random),
        "deadLetterTable" -> identifier(random),
        "trustedOwners" -> identifier(random),
        "onNewQuery" -> s"append:${text(random)}"
      )
    )
    val harmless = random.nextInt(3) == 0
    val options = if (harmless) own + ("dbtable" -> s"t${number.incrementAndGet()}") else own ++ more
    try {
      writeTo(database, options.filter { case (name, value) => name == "dbtable" || value.nonEmpty })
      val sink = options("sinkId")
      // The ledger is in the target's schema: H2 allows user tables in its system schema.
      val system = "information_schema."
      val schema = if (options("dbtable").toLowerCase(Locale.ROOT).startsWith(system)) system else ""
      val query = s"SELECT count(*) FROM ${schema}epochal_ledger WHERE sink_id = ?"
      Using.resource(database.connect()) { connection =>
        Using.resource(connection.prepareStatement(query)) { found =>
          found.setString(1, sink)
          val rows = found.executeQuery()
          assert(rows.next() && (sink.isEmpty || rows.getInt(1) == 1), sink)
        }
      }
    } finally unharmed(before)
  }

  private lazy val properties: Seq[String] = {
    val login = new Properties
    val known = Try(DriverManager.getDriver(database.url).getPropertyInfo(database.url, login).toSeq.map(_.name))
    known.getOrElse(Nil).filterNot(FuzzedOptions.Kept) ++
      Seq(
        "socketFactory",
        "INIT",
        "autoDeserialize",
        "queryInterceptors",
        "loggerFile",
        "nonsense",
        "init",
        "",
        "=",
        "&")
  }

  private def planted: Seq[Path] = Using.resource(Files.list(directory))(_.iterator.asScala.toSeq)

  fuzz(s"${databases.kind}: no driver property makes the driver create a class or file") { random =>
    val before = tables
    val values = Seq("true", "false", "1", "-1", "x", "", "99999999999", classOf[FuzzedClass].getName) ++
      Seq(s"$directory/file", s"file://$directory/file", s"RUNSCRIPT FROM '$directory/file'", text(random))
    def pairs: Seq[(String, String)] =
      Seq.fill(random.nextInt(3))(one(random, properties) -> one(random, values))
    val options = pairs.map { case (name, value) => s"connection.$name" -> value }.toMap
    val mark = if (database.url.startsWith("jdbc:h2") || database.url.startsWith("jdbc:hsqldb")) ";" else "&"
    val first = if (mark == "&" && !database.url.contains('?')) "?" else mark
    val url = some(random, pairs).map { case (name, value) => s"$name=$value" } match {
      case Nil  => database.url
      case more => database.url + first + more.mkString(mark)
    }
    val table = s"p${number.incrementAndGet()}"
    try
      writeTo(
        database,
        options ++ Map(
          "url" -> url,
          "dbtable" -> table,
          "createTable" -> "true",
          "sinkId" -> table,
          "retry.maxAttempts" -> "2",
          "retry.deadline" -> "5s"))
    finally {
      // Each round has its own pool: kept open for a minute, they would use up the server's connections.
      ConnectionPool.sweep(Duration.ZERO)
      unharmed(before)
      assert(FuzzedClass.made.get == 0 && planted.isEmpty, planted)
    }
  }
}

object FuzzedOptions {

  /** Properties that lead to another server, database or login: with legal values they change the target. */
  private val Kept =
    Set("user", "password", "PGHOST", "PGPORT", "PGDBNAME", "host", "port", "dbname", "localSocketAddress")
}

/** A class that no option may instantiate. */
final class FuzzedClass {
  FuzzedClass.made.incrementAndGet()
}

object FuzzedClass {
  val made = new AtomicInteger
}
