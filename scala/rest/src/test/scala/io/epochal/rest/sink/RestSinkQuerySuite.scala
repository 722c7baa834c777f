package io.epochal.rest.sink

import java.io.File
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.rand
import org.apache.spark.sql.streaming.{OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.Tag
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.support.SlowTests.slowIf

/** Whole queries against an API in this JVM. */
final class RestSinkQuerySuite extends QuerySuite {
  import testImplicits._

  /** `count` rows, ten per batch. */
  private def source(count: Int, partitions: Int = 3): DataFrame = spark.readStream
    .format("epochal-random")
    .options(
      Map(
        "rowsPerBatch" -> "10",
        "maxRows" -> count.toString,
        "minLength" -> "1",
        "numPartitions" -> partitions.toString))
    .load()

  private def start(
      frame: DataFrame,
      api: OrdersApi,
      checkpoint: File,
      options: Map[String, String] = Map.empty,
      mode: OutputMode = OutputMode.Append,
      trigger: Trigger = Trigger.AvailableNow
  ): StreamingQuery = frame.writeStream
    .format("epochal-rest")
    .options(RestSinkFixture.options(api) ++ options)
    .option("checkpointLocation", checkpoint.getPath)
    .outputMode(mode)
    .trigger(trigger)
    .start()

  private def run(
      frame: DataFrame,
      api: OrdersApi,
      checkpoint: File,
      options: Map[String, String] = Map.empty,
      mode: OutputMode = OutputMode.Append
  ): StreamingQuery = {
    val query = start(frame, api, checkpoint, options, mode)
    assert(query.awaitTermination(120000))
    query
  }

  private def refused(condition: String)(body: => Any): EpochalException = {
    val error = intercept[Exception](body)
    val ours = EpochalException.in(error).getOrElse(fail(error))
    assert(ours.condition.name == condition, ours.getMessage)
    ours
  }

  private def using(honours: Boolean = true)(body: (OrdersApi, File) => Any): Unit =
    withTempDir(checkpoint => OrdersApi.using(honours) { api => body(api, checkpoint); () })

  /** Simulates a crash of Spark between the sink's commit and its own. */
  private def forgetLastCommit(checkpoint: File): Unit = {
    val directory = checkpoint.toPath.resolve("commits")
    val last = Using.resource(Files.list(directory))(
      _.iterator.asScala.map(_.getFileName.toString).filter(_.forall(_.isDigit)).map(_.toInt).max)
    Files.delete(directory.resolve(last.toString))
    Files.deleteIfExists(directory.resolve(s".$last.crc")): Unit
  }

  Seq(
    "batches of three with keys" -> Map("keyColumns" -> "id", "batchSize" -> "3", "numPartitions" -> "2"),
    "by the defaults" -> Map.empty[String, String],
    "batches of three" -> Map("batchSize" -> "3"),
    "keys" -> Map("keyColumns" -> "id")
  ).zipWithIndex.foreach { case ((way, options), i) =>
    Seq(true -> "a server that honours the key has every row once", false -> "one that does not, at least once")
      .foreach { case (honours, result) =>
        test(s"$way: over restarts and replays, $result", slowIf(i > 0 || !honours): _*) {
          using(honours) { (api, checkpoint) =>
            Seq(25, 60, 61).foreach { count =>
              run(source(count).select("id", "value"), api, checkpoint, options)
              forgetLastCommit(checkpoint)
            }
            run(source(61).select("id", "value"), api, checkpoint, options)
            if (honours) assert(api.applied == (0L until 61L))
            else assert(api.applied.distinct == (0L until 61L) && api.applied.size > 61)
          }
        }
      }
  }

  test("a query that fails in the middle of an epoch repeats its requests, and resumes", Slow) {
    using() { (api, checkpoint) =>
      val n = new AtomicInteger
      api.intercept = _ => Option.when(n.incrementAndGet() == 16)(Answer(401))
      refused("HTTP_STATUS")(run(source(40), api, checkpoint))
      assert(api.applied.size >= 10 && api.applied.size < 40)
      run(source(40), api, checkpoint)
      assert(api.applied == (0L until 40L))
    }
  }

  test("row-wise operators keep their order: filters, projections, explode, unions, watermarks", Slow) {
    using() { (api, checkpoint) =>
      val frame = source(20)
        .withWatermark("timestamp", "1 minute")
        .where($"id" % 2 === 0)
        .selectExpr("id * 10 AS id", "explode(array(1, 2)) AS n", "current_timestamp() AS at")
      run(frame.union(frame.selectExpr("id + 1 AS id", "n", "at")), api, checkpoint)
      val sent = api.keys
      forgetLastCommit(checkpoint)
      run(frame.union(frame.selectExpr("id + 1 AS id", "n", "at")), api, checkpoint)
      assert(api.keys.drop(sent.size).forall(sent.contains) && sent.distinct.size == sent.size && sent.size == 40)
    }
  }

  Seq[(String, DataFrame => DataFrame, Seq[Tag])](
    ("Repartition", _.repartition(2), Seq(Slow)),
    ("rand()", _.select($"id", rand().as("r")), Nil),
    ("Deduplicate", _.dropDuplicates("id"), Seq(Slow)),
    ("Join", _.join(spark.range(20), "id"), Seq(Slow))
  ).foreach { case (named, change, tags) =>
    test(s"a plan that may reorder rows is refused, and keyColumns allow it: $named", tags: _*) {
      val frame = change(source(20))
      using() { (api, checkpoint) =>
        val error = refused("ORDER_NOT_REPEATABLE")(run(frame, api, checkpoint))
        assert(error.values("operator").contains(named), error.values("operator"))
        assert(api.requests.isEmpty)
        run(frame, api, checkpoint, Map("keyColumns" -> "id", "batchSize" -> "4"))
        forgetLastCommit(checkpoint)
        // This server compares bodies: a different row under the same key is an error, and is not applied.
        if (named == "rand()")
          refused("HTTP_STATUS")(run(frame, api, checkpoint, Map("keyColumns" -> "id", "batchSize" -> "4")))
        else run(frame, api, checkpoint, Map("keyColumns" -> "id", "batchSize" -> "4"))
        assert(api.applied == (0L until 20L), named)
      }
    }
  }

  test("an aggregate in update mode is sent by its key columns, once for each epoch in which it changed", Slow) {
    using() { (api, checkpoint) =>
      val frame = source(30).groupBy(($"id" % 3).as("id")).count()
      refused("ORDER_NOT_REPEATABLE")(run(frame, api, checkpoint, mode = OutputMode.Update))
      val options = Map("keyColumns" -> "id", "method" -> "PUT", "url" -> s"${api.url}/{id}")
      run(frame, api, checkpoint, options, OutputMode.Update)
      forgetLastCommit(checkpoint)
      run(frame, api, checkpoint, options, OutputMode.Update)
      assert(api.applied == Seq(0L, 0L, 0L, 1L, 1L, 1L, 2L, 2L, 2L))
    }
  }

  test("complete mode, overwriting and a continuous trigger are refused by name") {
    using() { (api, checkpoint) =>
      val frame = source(30).groupBy(($"id" % 3).as("id")).count()
      refused("MODE_UNSUPPORTED")(run(frame, api, checkpoint, mode = OutputMode.Complete))
      refused("MODE_UNSUPPORTED")(
        spark.range(3).write.format("epochal-rest").options(RestSinkFixture.options(api)).mode("overwrite").save())
    }
    using() { (api, checkpoint) =>
      val frame = spark.readStream.format("epochal-random").load()
      refused("TRIGGER_UNSUPPORTED")(
        start(frame, api, checkpoint, trigger = Trigger.Continuous("1 second")).awaitTermination(60000))
      assert(api.requests.isEmpty)
    }
  }

  test("a replayed epoch with other partitions is refused, and resumes once they are restored", Slow) {
    using() { (api, checkpoint) =>
      run(source(20), api, checkpoint)
      forgetLastCommit(checkpoint)
      refused("EPOCH_PARTITIONING_CHANGED")(run(source(20, partitions = 2), api, checkpoint))
      run(source(20), api, checkpoint)
      run(source(40, partitions = 2), api, checkpoint)
      assert(api.applied == (0L until 40L))
    }
  }

  test("a checkpoint that was rewound by several epochs is run again", Slow) {
    using() { (api, checkpoint) =>
      run(source(40), api, checkpoint)
      Seq("offsets" -> 2, "commits" -> 1).foreach { case (log, from) =>
        (from to 3).foreach { epoch =>
          val directory = checkpoint.toPath.resolve(log)
          Files.delete(directory.resolve(epoch.toString))
          Files.deleteIfExists(directory.resolve(s".$epoch.crc"))
        }
      }
      run(source(40), api, checkpoint)
      assert(api.applied == (0L until 40L))
    }
  }

  test("a batch is sent once; a second one under the same sinkId and key columns has the same keys", Slow) {
    using() { (api, _) =>
      def batch(rows: Long, more: (String, String)*): Unit =
        spark
          .range(rows)
          .write
          .format("epochal-rest")
          .options(RestSinkFixture.options(api) ++ more)
          .mode("append")
          .save()
      batch(10)
      assert(api.applied == (0L until 10L))
      batch(10)
      assert(api.applied.size == 20)
      refused("MODE_UNSUPPORTED")(batch(10, "sinkId" -> "orders"))
      val keyed = Seq("sinkId" -> "orders", "keyColumns" -> "id", "batchSize" -> "4")
      batch(10, keyed: _*)
      batch(10, keyed: _*)
      assert(api.applied.size == 30)
    }
  }

  test("invalid settings are refused when the query starts, with the options of their own connector") {
    using() { (api, checkpoint) =>
      refused("OPTION_UNKNOWN")(start(source(10), api, checkpoint, Map("batchsizes" -> "3")))
      refused("OPTION_UNKNOWN")(start(source(10), api, checkpoint, Map("pageSize" -> "3")))
      refused("OPTION_INVALID")(start(source(10), api, checkpoint, Map("keyColumns" -> "nope")))
      refused("OPTION_CONFLICT")(start(source(10), api, checkpoint, Map("batchBytes" -> "1m")))
      refused("OPTION_UNKNOWN")(
        spark
          .range(1)
          .write
          .format("epochal-rest")
          .options(RestSinkFixture.options(api) + ("batchsizes" -> "3"))
          .mode("append")
          .save())
      refused("OPTION_UNKNOWN")(
        spark.read.format("epochal-rest").schema("id INT").option("url", api.url).option("pagesizes", "3").load())
      refused("OPTION_UNKNOWN")(
        spark.read
          .format("epochal-rest")
          .schema("id INT")
          .option("url", api.url)
          .option("batchSize", "3")
          .load()
          .collect())
      refused("SCHEMA_REQUIRED")(spark.read.format("epochal-rest").option("url", api.url).load())
      assert(api.requests.isEmpty)
    }
  }

  test("progress and plans show what was sent, and no secret") {
    using() { (api, checkpoint) =>
      val options = Map("batchSize" -> "10", "headers.X-Token" -> "hunter2", "params.k" -> "hunter2")
      val query = run(source(10, partitions = 1), api, checkpoint, options)
      val sink = query.recentProgress.filter(_.numInputRows > 0).last.sink
      assert(sink.description == s"epochal-rest POST ${api.url}")
      val metrics = sink.metrics.asScala
      assert(metrics("rows") == "10" && metrics("requests") == "1" && metrics("sentBytes").toLong > 100)
      assert(api.requests.head.path.contains("k=hunter2"))
      val held = Files
        .walk(checkpoint.toPath)
        .iterator
        .asScala
        .filter(Files.isRegularFile(_))
        .map(Files.readString(_, ISO_8859_1))
      assert(!(query.recentProgress.map(_.json).mkString + held.mkString).contains("hunter2"))
    }
  }
}
