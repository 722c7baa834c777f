package io.epochal.jdbc

import java.io.File
import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{AnalysisException, DataFrame}
import org.scalatest.tagobjects
import org.scalatest.tags.Slow

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.failpoint.Failpoints
import io.epochal.jdbc.dialect.Dialects
import io.epochal.kit.sink.MicroBatches
import io.epochal.support.SlowTests

final class SqliteQuerySuite extends JdbcQueries(Sqlite) {

  test("the databases that a refused trigger names are those whose tasks store rows") {
    val known =
      Seq("postgresql" -> "PostgreSQL", "mysql" -> "MySQL", "mariadb" -> "MariaDB", "sqlite" -> "", "h2" -> "")
    val named = known.filter(one => Dialects.of(s"jdbc:${one._1}://db/t").exists(_.abilities.flushes)).map(_._2)
    assert(MicroBatches.Databases == s"${named.init.mkString(", ")} and ${named.last}")
  }

  test("a batch write that lost the response to its COMMIT reports the unknown outcome instead of writing twice") {
    withDatabase { database =>
      database.execute("CREATE TABLE t (id BIGINT)")
      Failpoints.arm("commit.after=disconnect@1")
      refused(Conditions.CommitUnknown)(batch(spark.range(10).toDF(), database).mode("append").save())
      assert(ids(database) == (0L until 10L))
    }
  }
}

@Slow
final class MariadbQuerySuite extends JdbcQueries(Mariadb)
@Slow
final class Mysql8QuerySuite extends JdbcQueries(Mysql8)

final class PostgresQuerySuite extends JdbcQueries(Postgres) with SlowTests {

  // Their outcome does not depend on the database.
  override protected def isSlow(test: String): Boolean =
    Seq(
      "a nondeterministic plan",
      "without keyColumns",
      "too large is refused",
      "invalid options",
      "a bad row fails",
      "is appended, or replaces").exists(test.contains(_))

  test("a batch write that lost the response to its COMMIT is resolved by the transaction's id") {
    withDatabase { database =>
      database.execute("CREATE TABLE t (id BIGINT)")
      Failpoints.arm("commit.after=disconnect@1")
      batch(spark.range(10).toDF(), database).mode("append").save()
      Failpoints.arm("commit.before=disconnect@1")
      batch(spark.range(10, 20).toDF(), database).mode("append").save()
      assert(ids(database) == (0L until 20L))
    }
  }
}

/** Whole queries. */
abstract class JdbcQueries(databases: TestDatabases) extends QuerySuite {
  import testImplicits._

  protected def withDatabase(body: TestDatabase => Any): Unit = {
    val database = databases.newDatabase()
    try { body(database); () }
    finally {
      Failpoints.disarm()
      spark.streams.active.foreach(_.stop())
      database.close()
    }
  }

  /** Ten rows per batch, and the given number in all. */
  private def rows(count: Int): DataFrame = spark.readStream
    .format("epochal-random")
    .options(Map("rowsPerBatch" -> "10", "maxRows" -> count.toString, "minLength" -> "1", "numPartitions" -> "3"))
    .load()
    .drop("timestamp") // starts with 1970: not every database has that

  private def start(
      frame: DataFrame,
      database: TestDatabase,
      checkpoint: File,
      mode: OutputMode = OutputMode.Append,
      trigger: Trigger = Trigger.AvailableNow,
      options: Map[String, String] = Map.empty
  ): StreamingQuery = frame.writeStream
    .format("epochal-jdbc")
    .options(database.options("t") + ("sinkId" -> "sink") ++ options)
    .option("checkpointLocation", checkpoint.getPath)
    .outputMode(mode)
    .trigger(trigger)
    .start()

  private def run(
      frame: DataFrame,
      database: TestDatabase,
      checkpoint: File,
      mode: OutputMode = OutputMode.Append,
      options: Map[String, String] = Map.empty
  ): StreamingQuery = {
    val query = start(frame, database, checkpoint, mode, Trigger.AvailableNow, options)
    assert(query.awaitTermination(120000))
    query
  }

  protected def batch(frame: DataFrame, database: TestDatabase, more: (String, String)*) =
    frame.write.format("epochal-jdbc").options(database.options("t", more: _*))

  protected def ids(database: TestDatabase): Seq[Long] =
    database.query("SELECT id FROM t ORDER BY id").map(_.head.asInstanceOf[Number].longValue)

  protected def refused(condition: Condition)(body: => Any): EpochalException = {
    val error = intercept[Exception](body)
    val ours = EpochalException.in(error).getOrElse(fail(error))
    assert(ours.condition.name == condition.name, ours.getMessage)
    ours
  }

  /** Simulates a crash of Spark between the sink's commit and its own. */
  private def forgetLastCommit(checkpoint: File): Unit = {
    val directory = checkpoint.toPath.resolve("commits")
    val last = Using.resource(Files.list(directory))(
      _.iterator.asScala.map(_.getFileName.toString).filter(_.forall(_.isDigit)).map(_.toInt).max)
    Files.delete(directory.resolve(last.toString))
    Files.deleteIfExists(directory.resolve(s".$last.crc")): Unit
  }

  test("a stream arrives row by row, across restarts and replays") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        val options = Map("createTable" -> "true")
        Seq(25, 25, 46).foreach { count =>
          run(rows(count), database, checkpoint, options = options)
          forgetLastCommit(checkpoint)
        }
        run(rows(46), database, checkpoint, options = options)
        val written = database.query("SELECT id, value, length FROM t ORDER BY id").map(_.map(_.toString))
        val expected = spark.read
          .format("epochal-random")
          .options(Map("rowsPerBatch" -> "10", "maxRows" -> "46", "minLength" -> "1"))
          .load()
          .select($"id", $"value", $"length")
          .as[(Long, String, Long)]
          .collect()
          .sortBy(_._1)
          .map { case (id, value, length) => Seq(id.toString, value, length.toString) }
          .toSeq
        assert(written == expected)
      }
    }
  }

  if (databases == Sqlite) test("start() makes the table of a query that Spark accepts, and no other") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        val counts = rows(20).groupBy($"length").count()
        val options = Map("createTable" -> "true", "keyColumns" -> "length")
        def tables = database.query("SELECT name FROM sqlite_master WHERE name = 't'")
        intercept[AnalysisException](start(counts, database, checkpoint, options = options - "keyColumns"))
        assert(tables.isEmpty)
        val query = start(counts, database, checkpoint, OutputMode.Update, Trigger.ProcessingTime("1 hour"), options)
        assert(tables.nonEmpty)
        query.stop()
      }
    }
  }

  test("a nondeterministic plan is applied once, and reported") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        val frame = rows(20).selectExpr("id", "rand() AS r")
        val options = Map("createTable" -> "true")
        run(frame, database, checkpoint, options = options)
        val before = database.query("SELECT id, r FROM t ORDER BY id")
        forgetLastCommit(checkpoint)
        val query = run(frame, database, checkpoint, options = options)
        assert(database.query("SELECT id, r FROM t ORDER BY id") == before)
        val metrics = query.recentProgress.last.sink.metrics.asScala
        assert(metrics("repeatedEpochs") == "1" && metrics("differingRepetitions") == "1")
      }
    }
  }

  Seq(OutputMode.Update -> Map("keyColumns" -> "length"), OutputMode.Complete -> Map.empty[String, String]).foreach {
    case (mode, keys) =>
      test(s"$mode mode maintains an aggregate", (if (databases == Sqlite) Nil else Seq(tagobjects.Slow)): _*) {
        withTempDir { checkpoint =>
          withDatabase { database =>
            Seq(20, 35).foreach { count =>
              run(rows(count).groupBy($"length").count(), database, checkpoint, mode, keys + ("createTable" -> "true"))
            }
            val expected = spark.read
              .format("epochal-random")
              .options(Map("rowsPerBatch" -> "10", "maxRows" -> "35", "minLength" -> "1"))
              .load()
              .groupBy($"length")
              .count()
              .orderBy($"length")
              .as[(Long, Long)]
              .collect()
              .map(_.toString)
              .toSeq
            val found =
              database.query("SELECT length, count FROM t ORDER BY length").map(row => row.mkString("(", ",", ")"))
            assert(found == expected, mode)
          }
        }
      }
  }

  test("update mode without keyColumns fails before anything is written") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        database.execute("CREATE TABLE t (length BIGINT, count BIGINT)")
        refused(Conditions.KeyColumnsRequired)(
          run(rows(30).groupBy($"length").count(), database, checkpoint, OutputMode.Update))
        assert(database.query("SELECT * FROM t").isEmpty)
      }
    }
  }

  test("progress reports what the sink did, and no secret") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        val query = run(
          rows(10).select("id"),
          database,
          checkpoint,
          options = Map("createTable" -> "true", "connection.ApplicationName" -> "s3cret-value"))
        val sink = query.recentProgress.filter(_.numInputRows > 0).last.sink
        assert(sink.description.startsWith("epochal-jdbc t in jdbc:"))
        val metrics = sink.metrics.asScala
        assert(
          metrics("rows") == "10" && metrics("epoch") == "0" && metrics("transport") == "inline" && metrics(
            "outcome") == "applied")
        assert(metrics("bytes").toLong > 0 && Seq("encodeMs", "loadMs", "commitMs").forall(metrics.contains))
        assert(!query.recentProgress.map(_.json).mkString.contains("s3cret"))
      }
    }
  }

  test("invalid options are refused when the query starts") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        database.execute("CREATE TABLE t (id BIGINT, value INT)")
        refused(Conditions.ColumnMissing)(start(rows(10).select("id", "length"), database, checkpoint))
        refused(Conditions.ColumnTypeMismatch)(start(rows(10).select("id", "value"), database, checkpoint))
        refused(Conditions.OptionUnknown)(
          start(rows(10).select("id"), database, checkpoint, options = Map("keyColum" -> "id")))
        refused(Conditions.TableMissing)(start(rows(10), database, checkpoint, options = Map("dbtable" -> "tt")))
        refused(Conditions.ModeUnsupported)(
          start(rows(10).select("id"), database, checkpoint, options = Map("asyncProgressTrackingEnabled" -> "true")))
        assert(ids(database).isEmpty)
      }
    }
  }

  if (databases == Sqlite) test("a continuous trigger is refused by name where only the driver writes") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        database.execute("CREATE TABLE t (id BIGINT)")
        val frame = spark.readStream.format("epochal-random").load().select("id")
        val error = refused(Conditions.TriggerUnsupported)(
          start(frame, database, checkpoint, trigger = Trigger.Continuous("1 second")).awaitTermination(60000))
        assert(error.getMessage.contains("epochal-jdbc into SQLite does not support the continuous trigger"))
        assert(error.getMessage.contains("the continuous trigger on PostgreSQL, MySQL and MariaDB."))
        assert(ids(database).isEmpty)
      }
    }
  }

  test("a bad row fails the query and names its column, and the epoch is written whole once it is corrected") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        database.execute("CREATE TABLE t (id BIGINT, value TEXT)")
        val bad = rows(30).selectExpr(
          "id",
          "CASE WHEN id = 17 THEN concat('a', decode(X'00', 'UTF-8')) ELSE value END AS value")
        assert(refused(Conditions.BadRow)(run(bad, database, checkpoint)).values("column") == "value")
        assert(ids(database) == (0L until 10L))
        run(rows(30).select("id", "value"), database, checkpoint)
        assert(ids(database) == (0L until 30L))
      }
    }
  }

  test("a batch is appended, or replaces the table, in one transaction") {
    withDatabase { database =>
      batch(spark.range(0, 1000, 1, 7).toDF(), database, "createTable" -> "true").mode("append").save()
      batch(spark.range(1000, 1010).toDF(), database).mode("append").save()
      assert(ids(database) == (0L until 1010L))
      batch(spark.range(5).toDF(), database).mode("overwrite").save()
      assert(ids(database) == (0L until 5L))
      batch(spark.range(0).toDF(), database).mode("append").save()
      assert(ids(database) == (0L until 5L))
    }
  }

  test("a batch refuses options for streams, and reading is refused") {
    withDatabase { database =>
      database.execute("CREATE TABLE t (id BIGINT)")
      refused(Conditions.ModeUnsupported)(batch(spark.range(5).toDF(), database, "sinkId" -> "s").mode("append").save())
      refused(Conditions.ModeUnsupported)(
        batch(spark.range(5).toDF(), database).partitionBy("id").mode("append").save())
      val error =
        refused(Conditions.ModeUnsupported)(spark.read.format("epochal-jdbc").options(database.options("t")).load())
      Seq("cannot infer columns: it is a sink", "A CREATE TABLE must name its columns", """format("jdbc")""")
        .foreach(words => assert(error.getMessage.contains(words)))
    }
  }

  test("a batch in upsert mode replaces rows of the same key") {
    withDatabase { database =>
      database.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, word TEXT)")
      val keys = "keyColumns" -> "id"
      batch(spark.range(10).selectExpr("id", "'old' AS word"), database, keys).mode("append").save()
      batch(spark.range(5, 15).selectExpr("id", "'new' AS word"), database, keys).mode("append").save()
      val words = database.query("SELECT word FROM t ORDER BY id").map(_.head)
      assert(words == Seq.fill(5)("old") ++ Seq.fill(10)("new"))
    }
  }

  test("an epoch that is too large is refused, and is written after the limit is raised") {
    withTempDir { checkpoint =>
      withDatabase { database =>
        database.execute("CREATE TABLE t (id BIGINT, word TEXT)")
        val frame = rows(20).selectExpr("id", "repeat(value, 2000) AS word")
        val small = Map("transport" -> "inline", "inlineMaxBytes" -> "1k")
        refused(Conditions.EpochTooLarge)(run(frame, database, checkpoint, options = small))
        assert(ids(database).isEmpty)
        run(frame, database, checkpoint)
        assert(ids(database) == (0L until 20L))
      }
    }
  }
}
