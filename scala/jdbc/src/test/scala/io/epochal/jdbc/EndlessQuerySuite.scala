package io.epochal.jdbc

import java.io.File
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicLong

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.functions.{array, col, current_timestamp, explode, lit, rand, udf}
import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.concurrent.PatienceConfiguration.Timeout
import org.scalatest.tagobjects
import org.scalatest.tags.Slow
import org.scalatest.time.{Seconds, Span}

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.core.failpoint.Failpoints
import io.epochal.kit.connector.{Lanes, Numbers}
import io.epochal.kit.store.LoggedEpochs
import io.epochal.support.SlowTests.slowIf

final class ContinuousQuerySuite extends EndlessQuerySuite(Trigger.Continuous("300 milliseconds"), OutputMode.Append) {

  test("a failed commit ends the query with its reason, and a restart stores the rows once") {
    withQueries { (database, checkpoint) =>
      Failpoints.arm("commit.before=fail@3")
      val query = start(rows(), database, checkpoint)
      val error = intercept[Exception](query.awaitTermination(120000))
      assert(
        Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).exists(_.getMessage.contains("failpoint")))
      Failpoints.disarm()
      val before = stored(database).size
      running(rows(), database, checkpoint)(eventually(patience)(assert(stored(database).size > before + 20)))
      once(database)
    }
  }

  private def logged(checkpoint: File): Seq[Long] =
    new File(checkpoint, "offsets").list.toSeq.filter(_.forall(_.isDigit)).map(_.toLong)

  private def copy(checkpoint: File, from: Long, to: Long): Unit = {
    val offsets = new File(checkpoint, "offsets").toPath
    Files.copy(offsets.resolve(from.toString), offsets.resolve(to.toString)): Unit
  }

  test("a driver that logs its commit after its successor has died leaves a checkpoint that resumes", tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      val commits = new File(checkpoint, "commits").toPath
      def last = Option(commits.toFile.list).toSeq.flatten.flatMap(_.toLongOption).maxOption.getOrElse(-1L)
      def run(): Unit = {
        val next = last + 1
        running(rows(), database, checkpoint)(eventually(patience)(assert(committed(checkpoint, next))))
      }
      run()
      while (database.one("SELECT last_epoch FROM epochal_ledger") != last) run()
      // The frozen driver has committed the epoch in the ledger, and not yet in Spark's log.
      val epoch = last
      val files = Seq(epoch.toString, s".$epoch.crc").map(commits.resolve(_))
      val frozen = files.map(Files.readAllBytes)
      files.foreach(Files.delete)
      // Its successor dies before it logs anything.
      val epochs = new LoggedEpochs(new Path(checkpoint.getPath), spark.sparkContext.hadoopConfiguration)
      assert(epochs.setAside().head == epoch && !logged(checkpoint).contains(epoch))
      files.zip(frozen).foreach { case (file, bytes) => Files.write(file, bytes) }
      val before = stored(database).size
      running(rows(), database, checkpoint)(eventually(patience)(assert(stored(database).size > before + 50)))
      once(database)
    }
  }

  test("a checkpoint whose commits are missing is refused, and resumes once they are back", tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      running(rows(), database, checkpoint)(eventually(patience)(assert(committed(checkpoint, 1))))
      val (commits, away) = (new File(checkpoint, "commits"), new File(checkpoint, "away"))
      assert(commits.renameTo(away))
      val before = logged(checkpoint)
      refused(Conditions.EpochRegressed)(start(rows(), database, checkpoint).awaitTermination(120000))
      assert(logged(checkpoint) == before)
      org.apache.commons.io.FileUtils.deleteDirectory(commits)
      assert(away.renameTo(commits))
      running(rows(), database, checkpoint)(eventually(patience)(assert(committed(checkpoint, before.max + 1))))
      once(database)
    }
  }

  test(
    "offsets that another run logs for a future epoch end the query, and are ignored by its restart",
    tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      val query = start(rows(), database, checkpoint)
      eventually(patience)(assert(stored(database).size > 50 && logged(checkpoint).nonEmpty))
      val last = logged(checkpoint).max
      copy(checkpoint, last, last + 5)
      refused(Conditions.EpochLoggedByOther)(query.awaitTermination(120000))
      copy(checkpoint, last, last + 50)
      val before = stored(database).size
      running(rows(), database, checkpoint)(eventually(patience)(assert(stored(database).size > before + 80)))
      once(database)
    }
  }
}

final class RealTimeQuerySuite extends EndlessQuerySuite(Trigger.RealTime("1 second"), OutputMode.Update) {

  test("rows of two sources are refused by name") {
    refusedPlan(rows().union(rows()))
  }

  test("shuffles are refused with the reason") {
    refusedPlan(rows().repartition(col("id")), "in the order in which they arrive")
  }

  test("rows that one row explodes into are stored once across stops", tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      val all = rows().select(col("id"), explode(array(lit("a"), lit("b"), lit("c"))).as("value"))
      (1 to 3).foreach { run =>
        running(all, database, checkpoint)(eventually(patience)(assert(stored(database).size > 90 * run)))
        val counts = database.query("SELECT id, value FROM t").groupBy(identity)
        assert(counts.values.forall(_.size == 1))
      }
    }
  }

  test("a second driver whose query is refused by the sink leaves the first one running", tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      running(rows(), database, checkpoint) {
        eventually(patience)(assert(committed(checkpoint, 0)))
        val driver = createSparkSession
        driver.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
        driver.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
        try
          refused(Conditions.ModeUnsupported) {
            start(rows(driver).withColumn("value", rand().cast("string")), database, checkpoint)
              .awaitTermination(120000)
          }
        finally {
          driver.close()
          SparkSession.setActiveSession(spark)
          SparkSession.setDefaultSession(spark)
        }
        val last = new File(checkpoint, "commits").list.flatMap(_.toLongOption).max
        eventually(patience)(assert(committed(checkpoint, last + 2)))
      }
      once(database)
    }
  }

  test(
    "a start in micro-batches is refused while rows are pending, and the query resumes in real time",
    tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      val query = start(rows(), database, checkpoint, OutputMode.Update, Trigger.RealTime("10 minutes"))
      eventually(patience)(assert(stored(database).size > 30))
      query.stop()
      refusedInMicroBatches(Conditions.RowsOwed, database, checkpoint)
    }
  }

  test(
    "a start in micro-batches after a commit that Spark has not logged is refused, and the query resumes in real time",
    tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      Failpoints.arm("commit.after=fail@1")
      val _ = intercept[Exception](start(rows(), database, checkpoint).awaitTermination(120000))
      Failpoints.disarm()
      refusedInMicroBatches(Conditions.TriggerChanged, database, checkpoint)
    }
  }

  /** Before the first commit, a task of the previous run may still store rows. */
  private def refusedInMicroBatches(condition: Condition, database: TestDatabase, checkpoint: File): Unit = {
    val Seq(first, second) = (1 to 2).map { _ =>
      val query = start(rows(), database, checkpoint, OutputMode.Append, Trigger.AvailableNow())
      refused(condition)(query.awaitTermination(120000))
      stored(database)
    }
    assert(second == first)
    running(rows(), database, checkpoint)(eventually(patience)(assert(stored(database).size > first.size + 50)))
    once(database)
  }

  test("current_timestamp() is refused by name, since it differs when an epoch is repeated") {
    refusedPlan(rows().withColumn("value", current_timestamp().cast("string")))
  }
}

@Slow
final class MariadbRealTimeQuerySuite
    extends EndlessQuerySuite(Trigger.RealTime("1 second"), OutputMode.Update, Mariadb)

/** Whole queries whose rows are stored in the middle of an epoch. */
abstract class EndlessQuerySuite(trigger: Trigger, mode: OutputMode, databases: TestDatabases = Postgres)
    extends QuerySuite {

  protected val patience: Timeout = Timeout(Span(180, Seconds))
  private val Partitions = 2

  override def beforeAll(): Unit = {
    super.beforeAll()
    spark.conf.set("spark.sql.streaming.realTimeMode.allowlistCheck", "false")
    spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
  }

  protected def withQueries(body: (TestDatabase, File) => Any): Unit = withTempDir { checkpoint =>
    val database = databases.newDatabase()
    database.execute("CREATE TABLE t (id BIGINT NOT NULL, value TEXT)")
    try { body(database, checkpoint); () }
    finally {
      Failpoints.disarm()
      spark.streams.active.foreach(_.stop())
      database.close()
    }
  }

  protected def rows(driver: SparkSession = spark): DataFrame = driver.readStream
    .format("epochal-random")
    .options(Map("rowsPerSecond" -> "100", "minLength" -> "1", "numPartitions" -> Partitions.toString))
    .load()
    .select("id", "value")

  protected def start(frame: DataFrame, database: TestDatabase, checkpoint: File): StreamingQuery =
    start(frame, database, checkpoint, mode, trigger)

  protected def start(
      frame: DataFrame,
      database: TestDatabase,
      checkpoint: File,
      mode: OutputMode,
      trigger: Trigger): StreamingQuery = frame.writeStream
    .format("epochal-jdbc")
    .options(database.options("t") + ("sinkId" -> "sink") + ("asyncProgressTrackingEnabled" -> "false"))
    .option("checkpointLocation", checkpoint.getPath)
    .outputMode(mode)
    .trigger(trigger)
    .start()

  protected def running(frame: DataFrame, database: TestDatabase, checkpoint: File)(body: => Any): Unit = {
    val query = start(frame, database, checkpoint)
    try { body; query.exception.foreach(throw _) }
    finally query.stop()
  }

  protected def stored(database: TestDatabase): Seq[Long] =
    database.query("SELECT id FROM t").map(_.head.asInstanceOf[Number].longValue)

  /** Asserts that each partition's rows are stored once, from its first to its last. */
  protected def once(database: TestDatabase): Unit =
    stored(database).groupBy(_ % Partitions).foreach { case (partition, ids) =>
      assert(ids.sorted == ids.indices.map(i => partition + i.toLong * Partitions))
    }

  /** Matches by text: an exception thrown by a task arrives as text. */
  protected def refused(condition: Condition, reason: String = "")(body: => Any): Unit = {
    val messages = Iterator.iterate[Throwable](intercept[Exception](body))(_.getCause).takeWhile(_ != null).toSeq
    val texts = messages.map(error => String.valueOf(error.getMessage))
    assert(texts.exists(text => text.contains(s"EPOCHAL.${condition.name}") && text.contains(reason)), messages)
    ()
  }

  protected def refusedPlan(frame: DataFrame, reason: String = ""): Unit = withQueries { (database, checkpoint) =>
    refused(Conditions.ModeUnsupported, reason)(start(frame, database, checkpoint).awaitTermination(60000))
    assert(stored(database).isEmpty)
  }

  // Both triggers take the same way through the sink.
  private def slowIfContinuous = slowIf(mode == OutputMode.Append)

  test(
    "rows are visible before their epoch ends, and stored once across stops in the middle of epochs",
    slowIfContinuous: _*) {
    withQueries { (database, checkpoint) =>
      (1 to 3).foreach { _ =>
        val before = stored(database).size
        running(rows(), database, checkpoint)(eventually(patience)(assert(stored(database).size > before + 70)))
        once(database)
      }
      val written = database.query("SELECT id, value FROM t ORDER BY id").map(row => row(0) -> row(1)).toMap
      val source = spark.read
        .format("epochal-random")
        .options(Map("rowsPerBatch" -> "10", "maxRows" -> written.size.toString, "minLength" -> "1"))
        .load()
        .collect()
      source.foreach(row => assert(written.get(row.getLong(0)).forall(_ == row.getString(1))))
    }
  }

  test("a run that dies at any step of a flush or commit leaves each row once", tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      Seq("flush.before-commit@7", "flush.after-commit@9", "ledger.written@1", "commit.after@1", "task.after-commit@3")
        .foreach { at =>
          val Array(step, time) = at.split('@')
          Failpoints.arm(s"$step=fail@$time")
          val query = start(rows(), database, checkpoint)
          assert(intercept[Exception](query.awaitTermination(120000)) != null)
          Failpoints.disarm()
          once(database)
        }
      val before = stored(database).size
      running(rows(), database, checkpoint)(eventually(patience)(assert(stored(database).size > before + 50)))
      once(database)
    }
  }

  test("an origin whose tails come back in another order has each row stored once", tagobjects.Slow) {
    withQueries { (database, checkpoint) =>
      val feed = Numbers.feed(checkpoint.getPath)
      feed.parts = 2
      // All rows of one task, so that none of the other's are owed.
      def lane = spark.readStream
        .format(classOf[Lanes].getName)
        .option("feed", checkpoint.getPath)
        .load()
        .filter("lane = 'lane 0'")
        .selectExpr("id", "lane AS value")
      (1 to 4).foreach { run =>
        feed.size.addAndGet(30)
        val long = if (mode == OutputMode.Append) Trigger.Continuous("10 minutes") else Trigger.RealTime("10 minutes")
        val query = start(lane, database, checkpoint, mode, if (run == 2) trigger else long)
        eventually(patience) {
          query.exception.foreach(throw _)
          assert(stored(database).sorted == (0L until feed.size.get) && (run != 2 || committed(checkpoint, 0)))
        }
        query.stop()
        feed.reversed = !feed.reversed
      }
    }
  }

  protected def committed(checkpoint: File, epoch: Long): Boolean = new File(checkpoint, s"commits/$epoch").exists

  test("expressions that differ between runs are refused by name, before any row is stored") {
    refusedPlan(rows().withColumn("value", rand().cast("string")))
  }

  test("a nondeterministic function that claims to be deterministic is detected after a restart", slowIfContinuous: _*) {
    withQueries { (database, checkpoint) =>
      def frame = {
        val calls = udf((_: String) => EndlessQuerySuite.calls.incrementAndGet().toString)
        rows().withColumn("value", calls(col("value")))
      }
      running(frame, database, checkpoint)(eventually(patience)(assert(stored(database).size > 30)))
      refused(Conditions.RowsNotRepeated)(start(frame, database, checkpoint).awaitTermination(120000))
      once(database)
      val applied = database.one("SELECT sum(applied) FROM epochal_ledger_progress").asInstanceOf[java.math.BigDecimal]
      assert(applied.longValue == stored(database).size)
    }
  }
}

private object EndlessQuerySuite {
  val calls = new AtomicLong
}
