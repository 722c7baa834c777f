package io.epochal.jdbc

import java.nio.file.{Files, Path}
import java.sql.{Connection, DriverManager}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.util.Using

import io.epochal.jdbc.database.ConnectionPool

/** An empty database for one test. */
trait TestDatabase {
  def name: String

  /** The URL for the sink, with its login. */
  def url: String

  /** Options of a sink that writes to this database. */
  def options(table: String, more: (String, String)*): Map[String, String] =
    Map("url" -> url, "dbtable" -> table, "retry.initialDelay" -> "10ms", "retry.maxDelay" -> "50ms") ++ more

  /** A connection for the test's own setup and checks: with an administrator's login, where there is one. */
  def connect(): Connection = DriverManager.getConnection(url)

  /** A connection with the sink's own login. */
  final def connectAsSink(): Connection = DriverManager.getConnection(url)

  def execute(sql: String*): Unit = Using.resource(connect()) { connection =>
    Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))
  }

  /** All rows, each as its values. */
  def query(sql: String): Seq[Seq[Any]] = Using.resource(connect()) { connection =>
    Using.resource(connection.createStatement()) { statement =>
      val rows = statement.executeQuery(sql)
      val columns = 1 to rows.getMetaData.getColumnCount
      Iterator.continually(rows).takeWhile(_.next()).map(row => columns.map(i => row.getObject(i))).toVector
    }
  }

  def one(sql: String): Any = query(sql) match {
    case Seq(Seq(value)) => value
    case other           => throw new AssertionError(s"not one value: $other")
  }

  def close(): Unit
}

/** A source of databases for tests; each suite runs on one kind. */
trait TestDatabases {
  def kind: String

  /** A type for text keys, and the options that it requires. */
  def keyText: String = "TEXT"
  def keyOptions: Map[String, String] = Map.empty

  /** Cancels the test with a reason if there is no server. */
  def newDatabase(): TestDatabase
}

object Sqlite extends TestDatabases {
  override val kind = "SQLite"

  override def newDatabase(): TestDatabase = new TestDatabase {
    private val directory: Path = Files.createTempDirectory("epochal-sqlite")
    override val name = "SQLite"
    override val url = s"jdbc:sqlite:$directory/test.db"

    override def close(): Unit = {
      ConnectionPool.sweep(java.time.Duration.ZERO)
      // The last connection removes files, too.
      Using.resource(Files.list(directory))(_.forEach(file => Files.deleteIfExists(file): Unit))
      Files.delete(directory)
    }
  }
}

object Postgres extends PostgresDatabases("PostgreSQL", PostgresServer.url)

object Postgres13 extends PostgresDatabases("PostgreSQL 13", PostgresServer.oldest)

/** A database whose default collation does not sort by bytes. */
object PostgresIcu
    extends PostgresDatabases(
      "PostgreSQL, ICU en-US",
      PostgresServer.icu,
      " LOCALE_PROVIDER icu ICU_LOCALE 'en-US' TEMPLATE template0")

/** The test logs in as the superuser that created the server, the sink as `loader` (see [[LoaderRights]]).
  *
  * @param rights
  *   names of the blocks of GRANTs that the loader receives
  */
class PostgresDatabases(
    override val kind: String,
    url: => Either[String, String],
    like: String = "",
    rights: Seq[String] = Seq(LoaderRights.Everything))
    extends TestDatabases {
  private lazy val server = url.fold(TestServer.missing("postgres"), identity)
  private def place(database: String): String = server.replaceFirst("/[^/?]*(?=\\?|$)", s"/$database")
  private def run(url: String, sql: String*): Unit = Using.resource(DriverManager.getConnection(url)) { connection =>
    Using.resource(connection.createStatement())(statement => sql.foreach(statement.execute(_)))
  }

  private lazy val version =
    Using.resource(DriverManager.getConnection(server))(_.getMetaData.getDatabaseMajorVersion)

  /** Copies files, which is half the work of copying through the write-ahead log, the default since version 15. */
  private def byFiles = if (version >= 15) " STRATEGY FILE_COPY" else ""

  // As `initdb` makes it.
  private def owner = if (version >= 14) " AUTHORIZATION pg_database_owner" else ""
  private def ofAll = if (version >= 15) "USAGE" else "ALL"

  private def create(like: String): String = {
    val database = s"test_${ProcessHandle.current.pid}_${PostgresDatabases.number.incrementAndGet()}"
    run(server, s"CREATE DATABASE $database$like$byFiles")
    database
  }

  /** Recreates the schema `public`, with the loader's rights, and drops all others. */
  private def empty(database: String): Unit =
    run(
      place(database),
      """DO $$ DECLARE place NAME; BEGIN
        |PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
        |  WHERE datname = current_database() AND pid <> pg_backend_pid();
        |FOR place IN SELECT nspname FROM pg_namespace WHERE oid >= 16384 OR nspname = 'public' LOOP
        |  EXECUTE format('DROP SCHEMA %I CASCADE', place);
        |END LOOP; END $$""".stripMargin +:
        s"CREATE SCHEMA public$owner" +:
        s"GRANT $ofAll ON SCHEMA public TO PUBLIC" +:
        rights.flatMap(LoaderRights.of): _*)

  /** The template of all databases: empty, with the loader's rights. */
  private lazy val template = {
    val database = create(like)
    run(server, LoaderRights.Role)
    empty(database)
    database
  }

  /** Counts of its objects by kind, which equal those of the template once it is empty. */
  private def contents(url: String): String = Using.resource(DriverManager.getConnection(url)) { connection =>
    val kinds = "class type proc operator cast namespace extension publication event_trigger language " +
      "foreign_data_wrapper foreign_server"
    val counts = kinds.split(' ').toSeq.map(kind => s"(SELECT count(*) FROM pg_$kind WHERE oid >= 16384)") ++ Seq(
      "(SELECT count(*) FROM pg_default_acl)",
      "(SELECT count(*) FROM pg_largeobject_metadata)",
      "(SELECT count(*) FROM pg_db_role_setting s WHERE s.setdatabase = d.oid)",
      "d.datacl")
    val found = connection
      .createStatement()
      .executeQuery(
        s"SELECT concat_ws(',', ${counts.mkString(", ")}) FROM pg_database d WHERE datname = current_database()")
    found.next()
    found.getString(1)
  }

  private lazy val untouched = contents(place(template))

  /** Databases of earlier tests, emptied: that takes a tenth of the work of a new one. */
  private val emptied = new ConcurrentLinkedQueue[String]

  override def newDatabase(): TestDatabase = {
    val database = Option(emptied.poll()).getOrElse(create(s" TEMPLATE $template"))
    new TestDatabase {
      override val name = "PostgreSQL"
      private val admin = place(database)
      override val url: String = LoaderRights.login(admin)
      override def connect(): Connection = DriverManager.getConnection(admin)

      override def close(): Unit = {
        ConnectionPool.sweep(java.time.Duration.ZERO)
        query("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()").foreach(row =>
          execute(s"ROLLBACK PREPARED '${row.head}'"))
        empty(database)
        val _ =
          if (contents(place(database)) == untouched) emptied.add(database)
          else run(server, s"DROP DATABASE $database WITH (FORCE)")
      }
    }
  }
}

private object PostgresDatabases {
  val number = new AtomicInteger
}

/** The same databases, with a suite's own options. */
final class Configured(databases: TestDatabases, name: String, more: (String, String)*) extends TestDatabases {
  override val kind = s"${databases.kind}, $name"

  override def newDatabase(): TestDatabase = {
    val database = databases.newDatabase()
    new TestDatabase {
      override def name: String = database.name
      override def url: String = database.url
      override def connect(): Connection = database.connect()
      override def options(table: String, others: (String, String)*): Map[String, String] =
        database.options(table, more ++ others: _*)
      override def close(): Unit = database.close()
    }
  }
}

/** The same databases, where the sink's role owns tables created by the test: only the owner may add columns. */
final class Owned(databases: TestDatabases) extends TestDatabases {
  override val kind = databases.kind

  override def newDatabase(): TestDatabase = {
    val database = databases.newDatabase()
    new TestDatabase {
      override def name: String = database.name
      override def url: String = database.url
      override def connect(): Connection = connectAsSink()
      override def options(table: String, others: (String, String)*): Map[String, String] =
        database.options(table, others: _*)
      override def close(): Unit = database.close()
    }
  }
}

object PostgresBy {
  def staged: TestDatabases = staged(Postgres)
  def prepared: TestDatabases = prepared(Postgres)
  def staged(databases: TestDatabases): TestDatabases = new Configured(databases, "staged", "transport" -> "staged")
  def prepared(databases: TestDatabases): TestDatabases =
    new Configured(databases, "prepared", "transport" -> "prepared")
}

object Mariadb extends MysqlDatabases("MariaDB", MariadbServer.url.fold(TestServer.missing("mariadb"), identity)) {
  override val keyText = "VARCHAR(50) COLLATE utf8mb4_nopad_bin"
}

/** Older than the first release with a collation that compares keys as Spark does. */
sealed abstract class OldestMysql(kind: String, scheme: String)
    extends MysqlDatabases(kind, Mysql8Server.url.fold(TestServer.missing("mysql"), _.replace("jdbc:mysql:", scheme))) {
  override val keyText = "VARCHAR(50) COLLATE utf8mb4_bin"
  override val keyOptions: Map[String, String] = Map("keyComparison" -> "database")
}

object Mysql8 extends OldestMysql("MySQL 8.0", "jdbc:mysql:")
object Mysql8ByMariadb extends OldestMysql("MySQL 8.0 by MariaDB's driver", "jdbc:mariadb:")

sealed abstract class MysqlDatabases(override val kind: String, server: => String) extends TestDatabases {
  private val number = new AtomicInteger

  override def newDatabase(): TestDatabase = {
    val serverUrl = server
    val database = s"test_${ProcessHandle.current.pid}_${number.incrementAndGet()}"
    def onServer(sql: String): Unit = Using.resource(DriverManager.getConnection(serverUrl))(connection =>
      Using.resource(connection.createStatement())(_.execute(sql)): Unit)
    onServer(s"CREATE DATABASE $database CHARACTER SET utf8mb4")
    new TestDatabase {
      override val name = kind
      override val url = serverUrl.replace("/?", s"/$database?")

      // As an application's user would: with InnoDB, and names in double quotes.
      override def connect(): Connection = {
        val connection = DriverManager.getConnection(url)
        Using.resource(connection.createStatement())(
          _.execute("SET default_storage_engine = 'InnoDB', sql_mode = 'ANSI_QUOTES', time_zone = '+00:00'")): Unit
        connection
      }

      override def close(): Unit = {
        ConnectionPool.sweep(java.time.Duration.ZERO)
        onServer(s"DROP DATABASE $database")
      }
    }
  }
}

/** An in-process database, written by the generic dialect. */
final class InProcess(override val kind: String, urlOf: Int => String, shutdown: String) extends TestDatabases {
  private val number = new AtomicInteger

  override def newDatabase(): TestDatabase = new TestDatabase {
    override val name: String = kind
    override val url: String = urlOf(number.incrementAndGet())

    override def close(): Unit = {
      ConnectionPool.sweep(java.time.Duration.ZERO)
      execute(shutdown)
    }
  }
}

object InProcess {

  /** Far from UTC, as a server may be. */
  val H2 = new InProcess(
    "H2",
    n =>
      s"jdbc:h2:mem:test$n;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=10000;DATABASE_TO_LOWER=TRUE;CASE_INSENSITIVE_IDENTIFIERS=TRUE;" +
        "TIME ZONE=Asia/Kolkata",
    "SHUTDOWN")
  val Hsqldb =
    new InProcess("HSQLDB", n => s"jdbc:hsqldb:mem:test$n;sql.syntax_pgs=true;hsqldb.tx=mvcc", "SHUTDOWN")
}
