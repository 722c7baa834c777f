package io.epochal.jdbc

import java.io.File
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, Path, Paths, StandardCopyOption}
import java.sql.{Connection, DriverManager}
import java.util.Properties

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tagobjects.Slow
import org.scalatest.time.SpanSugar._

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.{ConnectionPool, OpenFiles, Transaction}
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.sqlite.SqliteDialect
import io.epochal.kit.database.Sql
import io.epochal.support.SlowTests.slowIf

/** Rows stay complete when a database's file is deleted or replaced. */
final class SqliteFileSuite extends QuerySuite {
  import testImplicits._

  /** A database in a directory of its own. */
  final private class Place(val directory: Path) {
    val file: Path = directory.resolve("x.db")

    /** Deletes the file and those beside it, as `rm x.db*` does. */
    def remove(): Unit =
      names.filter(_.startsWith("x.db")).foreach(name => Files.deleteIfExists(directory.resolve(name)))

    def names: Seq[String] =
      Using.resource(Files.list(directory))(_.iterator.asScala.map(_.getFileName.toString).toList).sorted

    def key(name: String): AnyRef = Files.readAttributes(directory.resolve(name), classOf[BasicFileAttributes]).fileKey

    /** Replaces the file by another database, which has a table of its own. */
    def replace(): Unit = {
      val other = new Place(Files.createTempDirectory(directory, "other"))
      other.database().execute("CREATE TABLE mine (id BIGINT)", "INSERT INTO mine VALUES (7)")
      remove()
      Files.move(other.file, file, StandardCopyOption.ATOMIC_MOVE): Unit
    }

    def database(path: String = file.toString): TestDatabase = new TestDatabase {
      override val name = "SQLite"
      override val url = s"jdbc:sqlite:$path"
      override def close(): Unit = ()
    }

    def ids(table: String = "t"): Seq[Long] =
      database().query(s"SELECT id FROM $table ORDER BY id").map(_.head.asInstanceOf[Number].longValue)
  }

  private def withPlace(body: (Place, File) => Any): Unit = withTempDir { directory =>
    withTempDir { checkpoints =>
      try { body(new Place(directory.toPath.toRealPath()), checkpoints); () }
      finally spark.streams.active.foreach(_.stop())
    }
  }

  private def start(
      frame: DataFrame,
      url: String,
      checkpoint: File,
      trigger: Trigger = Trigger.ProcessingTime(0)): StreamingQuery =
    frame.writeStream
      .format("epochal-jdbc")
      .options(Map("url" -> url, "dbtable" -> "t", "createTable" -> "true"))
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(trigger)
      .start()

  /** Runs a query, makes `change` between two of its epochs, and returns the error that it ends with. */
  private def ended(place: Place, checkpoint: File, path: String, rows: MemoryStream[Int] = MemoryStream[Int])(
      change: => Any): EpochalException = {
    val query = start(rows.toDF().toDF("id"), place.database(path).url, checkpoint)
    rows.addData(1, 2, 3)
    query.processAllAvailable()
    change
    rows.addData(4, 5, 6)
    val error = EpochalException.in(intercept[Exception](query.processAllAvailable())).get
    assert(error.condition == Conditions.DatabaseFileReplaced, error)
    assert(query.exception.isDefined && !new File(checkpoint, "commits/1").exists())
    error
  }

  private def pools(url: String): Int =
    ConnectionPool.count(JdbcOptions.read(Map("url" -> url, "dbtable" -> "t")).fold(throw _, identity).connection)

  /** Writes the given number of rows, and ends. */
  private def finish(rows: Int, url: String, checkpoint: File): Unit = {
    val frame = spark.readStream
      .format("epochal-random")
      .options(Map("rowsPerBatch" -> "250", "maxRows" -> rows.toString))
      .load()
      .select("id")
    assert(start(frame, url, checkpoint, Trigger.AvailableNow).awaitTermination(120000))
  }

  Seq[(String, Place => Unit)]("was deleted" -> (_.remove()), "was replaced" -> (_.replace())).foreach {
    case (what, change) =>
      test(
        s"a query with a new checkpoint writes the current file after the previous query's file $what",
        slowIf(what == "was replaced"): _*) {
        withPlace { (place, checkpoints) =>
          finish(500, place.database().url, new File(checkpoints, "first"))
          assert(place.ids() == (0L until 500L))
          change(place)
          finish(500, place.database().url, new File(checkpoints, "second"))
          assert(place.ids() == (0L until 500L))
          if (what == "was replaced") assert(place.ids("mine") == Seq(7L))
        }
      }

      test(s"a batch writes the current file after the previous batch's file $what") {
        withPlace { (place, _) =>
          def write(): Unit = spark
            .range(500)
            .write
            .format("epochal-jdbc")
            .options(place.database().options("t", "createTable" -> "true"))
            .mode("append")
            .save()
          write()
          change(place)
          write()
          assert(place.ids() == (0L until 500L))
        }
      }
  }

  test("a file that is deleted while the query runs fails the next epoch, and no other file is created") {
    withPlace { (place, checkpoint) =>
      val error = ended(place, checkpoint, place.file.toString)(place.remove())
      assert(
        error.getMessage.contains(s"The file ${place.file} of jdbc:sqlite:${place.file} was deleted or moved away"))
      assert(place.names.isEmpty)
    }
  }

  test("a file that is deleted while the query has no connection open fails the next epoch") {
    withPlace { (place, checkpoint) =>
      val error = ended(place, checkpoint, place.file.toString) {
        ConnectionPool.sweep(java.time.Duration.ZERO)
        place.remove()
      }
      assert(error.values("change").startsWith("deleted") && place.names.isEmpty)
    }
  }

  test("a file that is replaced while the query runs fails the next epoch, and the new file is unchanged") {
    withPlace { (place, checkpoint) =>
      val error = ended(place, checkpoint, place.file.toString)(place.replace())
      assert(error.values("change") == "replaced by another file")
      assert(place.database().query("SELECT name FROM sqlite_schema") == Seq(Seq("mine")))
    }
  }

  test("a reader that comes and goes while the first connection is opened replaces no file of it") {
    withPlace { (place, _) =>
      val settings = JdbcOptions.read(Map("url" -> place.database().url, "dbtable" -> "t")).fold(throw _, identity)
      def connect(properties: (String, String)*): Connection = {
        val login = new Properties
        properties.foreach { case (name, value) => login.setProperty(name, value) }
        DriverManager.getConnection(place.database().url, login)
      }
      Files.createFile(place.file) // As the checks before the start leave it.
      lazy val reader = connect()
      val connection = OpenFiles.connect(settings.connection, () => SqliteDialect.files(settings.connection)) {
        val created = connect("journal_mode" -> "WAL")
        Sql.query(reader, "SELECT count(*) FROM sqlite_schema")(_.getInt(1))
        created
      }
      reader.close()
      // Takes the numbers of the files that the reader deleted.
      (1 to 4).foreach(n => Files.createFile(place.directory.resolve(s"other$n")))
      (1 to 2).foreach { n =>
        Transaction.run(connection, SqliteDialect, settings.lockTimeout) { transaction =>
          Sql.run(connection, s"CREATE TABLE t$n (id BIGINT)")
          transaction.commit()
        }
      }
      connection.close()
      assert(place.ids("t1").isEmpty && place.ids("t2").isEmpty)
    }
  }

  test("a file that was moved away and put back has all rows once", Slow) {
    withPlace { (place, checkpoint) =>
      val rows = MemoryStream[Int]
      val away = place.directory.resolve("away.db")
      ended(place, checkpoint, place.file.toString, rows)(Files.move(place.file, away))
      eventually(timeout(30.seconds))(assert(pools(place.database().url) == 0))
      Files.move(away, place.file)
      start(rows.toDF().toDF("id"), place.database().url, checkpoint).processAllAvailable()
      assert(place.ids() == (1L to 6L))
    }
  }

  test(
    "a write-ahead log that is deleted while the query runs fails the next epoch; a restart has all rows once",
    Slow) {
    withPlace { (place, checkpoint) =>
      val rows = MemoryStream[Int]
      val error = ended(place, checkpoint, place.file.toString, rows)(Files.delete(place.directory.resolve("x.db-wal")))
      assert(error.values("file") == s"${place.file}-wal" && error.getMessage.contains("Start the query again"))
      eventually(timeout(30.seconds))(assert(pools(place.database().url) == 0))
      start(rows.toDF().toDF("id"), place.database().url, checkpoint).processAllAvailable()
      assert(place.ids() == (1L to 6L))
    }
  }

  test("the file is recognised through a link, a relative path and a URI", Slow) {
    Seq[Path => String](
      file => Files.createSymbolicLink(file.resolveSibling("link.db"), file).toString,
      file => Paths.get("").toAbsolutePath.relativize(file).toString,
      file => s"file:$file?cache=private",
      file => s"file://localhost${file.toString.replace("x.db", "%78.db")}"
    ).foreach { urlOf =>
      withPlace { (place, checkpoint) =>
        val error = ended(place, checkpoint, urlOf(place.file))(place.remove())
        assert(error.values("change").startsWith("deleted"))
      }
      withPlace { (place, checkpoint) =>
        val error = ended(place, checkpoint, urlOf(place.file))(Files.delete(place.directory.resolve("x.db-wal")))
        assert(error.values("file") == s"${place.file}-wal")
      }
    }
  }

  test("a query whose file was deleted fails, though another query has created a new file at its path", Slow) {
    withPlace { (place, checkpoints) =>
      val rows = MemoryStream[Int]
      val first = start(rows.toDF().toDF("id"), place.database().url, new File(checkpoints, "first"))
      rows.addData(1, 2, 3)
      first.processAllAvailable()
      place.remove()
      finish(200, place.database().url, new File(checkpoints, "second"))
      rows.addData(4, 5, 6)
      val error = EpochalException.in(intercept[Exception](first.processAllAvailable())).get
      // The file system may reuse the old file's number: then the ledger distinguishes them.
      assert(Seq(Conditions.DatabaseFileReplaced, Conditions.LedgerEmpty).contains(error.condition), error)
      assert(place.ids() == (0L until 200L))
    }
  }

  test("a link that is pointed at another file while the query runs fails the next epoch", Slow) {
    withPlace { (place, checkpoint) =>
      val other = new Place(Files.createDirectory(place.directory.resolve("other")))
      other.database().execute("CREATE TABLE mine (id BIGINT)")
      val link = place.directory.resolve("link.db")
      Files.createSymbolicLink(link, place.file)
      val error = ended(place, checkpoint, link.toString) {
        Files.delete(link)
        Files.createSymbolicLink(link, other.file)
      }
      assert(error.values("file") == link.toString && error.values("change") == "replaced by another file")
      assert(other.names == Seq("x.db"))
    }
  }

  test("a connection is kept for all epochs of a query, and closed when it finishes, is stopped or fails") {
    withPlace { (place, checkpoints) =>
      def released(): Unit = eventually(timeout(30.seconds)) {
        assert(pools(place.database().url) == 0 && place.names == Seq("x.db"))
      }
      finish(300, place.database().url, new File(checkpoints, "finished"))
      released()
      place.database().execute("DROP TABLE t", "DELETE FROM epochal_ledger")
      val rows = MemoryStream[Int]
      val query = start(rows.toDF().toDF("id"), place.database().url, new File(checkpoints, "stopped"))
      val logs = (1 to 3).map { n =>
        rows.addData(n)
        query.processAllAvailable()
        place.key("x.db-wal")
      }
      assert(logs.distinct.size == 1)
      query.stop()
      released()
      val failing = start(rows.toDF().toDF("id"), place.database().url, new File(checkpoints, "failed"))
      intercept[Exception](failing.processAllAvailable()) // TARGET_SHARED
      released()
    }
  }

  test("a batch closes its connection, whether it succeeds or fails", Slow) {
    withPlace { (place, _) =>
      def write(sql: String): Unit = spark
        .range(10)
        .selectExpr(sql)
        .write
        .format("epochal-jdbc")
        .options(place.database().options("t", "createTable" -> "true"))
        .mode("append")
        .save()
      write("id")
      assert(place.names == Seq("x.db") && pools(place.database().url) == 0)
      intercept[Exception](write("CAST(raise_error('no') AS BIGINT) AS id"))
      assert(place.names == Seq("x.db") && pools(place.database().url) == 0)
    }
  }

  test("an embedded database of the generic dialect is released when its query has ended", Slow) {
    withPlace { (place, checkpoints) =>
      val url = s"jdbc:h2:${place.directory}/x;DATABASE_TO_LOWER=TRUE;CASE_INSENSITIVE_IDENTIFIERS=TRUE"
      Seq("first", "second").foreach { name =>
        finish(100, url, new File(checkpoints, name))
        eventually(timeout(30.seconds))(assert(pools(url) == 0))
        val ids = Using.resource(java.sql.DriverManager.getConnection(url)) { connection =>
          Using.resource(connection.createStatement().executeQuery("SELECT count(*) FROM t")) { rows =>
            rows.next()
            rows.getInt(1)
          }
        }
        assert(ids == 100)
        Files.delete(place.directory.resolve("x.mv.db"))
      }
    }
  }
}
