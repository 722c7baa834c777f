package io.epochal.rest.source

import java.io.File
import java.nio.file.Files
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException

/** Whole queries over an API in this JVM. */
final class RestQuerySuite extends QuerySuite {
  import testImplicits._

  private val ddl = "id INT, name STRING"

  private def stream(api: RecordsApi, more: (String, String)*): DataFrame =
    spark.readStream
      .format("epochal-rest")
      .schema(ddl)
      .options(Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "10") ++ more)
      .load()

  private def batch(api: RecordsApi, more: (String, String)*): DataFrame =
    spark.read.format("epochal-rest").schema(ddl).options(Map("url" -> api.url) ++ more).load()

  /** The ids of every delivered batch, by its number; a replay adds another list. */
  final private class Delivered {
    private val batches = new ConcurrentHashMap[Long, Vector[Seq[Int]]]

    def start(frame: DataFrame, checkpoint: File, trigger: Trigger): StreamingQuery =
      frame.writeStream
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(trigger)
        .foreachBatch { (rows: DataFrame, number: Long) =>
          val ids = rows.select($"id").as[Int].collect().toSeq
          val _ = batches.merge(number, Vector(ids), _ ++ _)
        }
        .start()

    def run(frame: DataFrame, checkpoint: File): StreamingQuery = {
      val query = start(frame, checkpoint, Trigger.AvailableNow())
      assert(query.awaitTermination(60000), "the query did not end")
      query
    }

    def apply(number: Long): Vector[Seq[Int]] = batches.getOrDefault(number, Vector.empty)
    def all: Seq[Int] = batches.asScala.toSeq.sortBy(_._1).flatMap(_._2.flatten)
  }

  test("a query that is stopped and restarted delivers every record once, while the API grows") {
    RecordsApi.using(records = 25) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        Seq(25, 26, 60, 60, 71).foreach { count =>
          api.count = count
          val query = delivered.start(stream(api, "maxRowsPerBatch" -> "10"), checkpoint, Trigger.ProcessingTime(0))
          try query.processAllAvailable()
          finally query.stop()
          assert(delivered.all == (0 until count))
        }
      }
    }
  }

  test("AvailableNow delivers the records that exist at its start, in batches of maxRowsPerBatch, and ends") {
    RecordsApi.using(records = 25) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        api.before = () => if (api.count >= 25) api.count += 1
        val query = delivered.run(stream(api, "maxRowsPerBatch" -> "10"), checkpoint)
        val sizes = query.recentProgress.map(_.numInputRows).filter(_ > 0).toSeq
        assert(delivered.all == delivered.all.indices && sizes.dropRight(1).forall(_ == 10))
        assert(delivered.all.size >= 25 && delivered.all.size < api.count)
      }
    }
  }

  test("a batch whose commit was lost is replayed with the same records, though the API has grown") {
    RecordsApi.using(records = 35) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        val options = Seq("maxRowsPerBatch" -> "20")
        delivered.run(stream(api, options: _*), checkpoint)
        assert(delivered(1) == Vector(20 until 35))
        Seq("1", ".1.crc").foreach(name => Files.deleteIfExists(checkpoint.toPath.resolve("commits").resolve(name)))
        api.count = 100
        delivered.run(stream(api, options :+ ("numPartitions" -> "1"): _*), checkpoint)
        assert(delivered(1) == Vector(20 until 35, 20 until 35))
        assert(delivered(2).map(_.sorted) == Vector(35 until 55))
      }
    }
  }

  test("an idle API costs one request per poll, and gets no batch") {
    RecordsApi.using(records = 0) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        val query = delivered.start(stream(api), checkpoint, Trigger.ProcessingTime(0))
        try {
          query.processAllAvailable()
          assert(query.recentProgress.forall(_.numInputRows == 0) && delivered.all.isEmpty)
          assert(!new File(checkpoint, "offsets").list().contains("0"))
        } finally query.stop()
        assert(api.requests().distinct == Seq("_start=0&_limit=10"))
      }
    }
  }

  test("the progress shows lag, requests and bytes, including those of the tasks") {
    RecordsApi.using(records = 45) { api =>
      withTempDir { checkpoint =>
        val query = new Delivered().run(stream(api, "maxRowsPerBatch" -> "20"), checkpoint)
        val sources = query.recentProgress.filter(_.numInputRows > 0).map(_.sources.head)
        assert(sources.map(_.metrics.get("rowsBehind")).toSeq == Seq("25", "5", "0"))
        assert(sources.last.metrics.get("rowsBehindExact") == "true")
        assert(sources.last.metrics.get("secondsBehind") == "0")
        assert(sources.last.metrics.get("requests").toLong == api.requests().size)
        assert(sources.last.metrics.get("bytes").toLong > 45 * 20)
        assert(sources.last.latestOffset.contains("\"records\":45"))
        assert(sources.last.description == s"epochal-rest[${api.url} (offset)]")
      }
    }
  }

  test("minRowsPerBatch does not keep AvailableNow from the last records") {
    RecordsApi.using(records = 5) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        delivered.run(stream(api, "minRowsPerBatch" -> "10"), checkpoint)
        assert(delivered.all == (0 until 5))
      }
    }
  }

  test("a batch read has all records, in every pagination and on any number of partitions") {
    RecordsApi.using(records = 57) { api =>
      val rows = (0 until 57).map(i => Row(i, s"record $i"))
      checkAnswer(batch(api), rows)
      Seq("offset", "page").foreach { kind =>
        val frame = batch(api, "pagination" -> kind, "pageSize" -> "10", "numPartitions" -> "4")
        assert(frame.rdd.getNumPartitions == 4)
        checkAnswer(frame, rows)
      }
    }
  }

  test("a batch read requests the count once, and the records once, however often it is planned", Slow) {
    RecordsApi.using(records = 30) { api =>
      assert(batch(api).distinct().orderBy("id").collect().length == 30)
      assert(api.requests().size == 2)
    }
  }

  test("columns that a batch query does not use are not read", Slow) {
    RecordsApi.using(records = 3) { api =>
      api.record = i => s"""{"id":$i,"name":{"not":["a string to be parsed"]}}"""
      val frame = spark.read.format("epochal-rest").schema("id INT, name DATE").option("url", api.url).load()
      assert(frame.select("id").as[Int].collect().toSeq == Seq(0, 1, 2))
      assert(frame.count() == 3)
      val error = intercept[Exception](frame.collect())
      assert(EpochalException.in(error).exists(_.condition.name == "RECORD_INVALID"))
    }
  }

  test("the schema comes from the reader or from the option, and one of them is required") {
    RecordsApi.using(records = 1) { api =>
      val plain = spark.read.format("epochal-rest").option("url", api.url)
      checkAnswer(plain.option("schema", ddl).load(), Row(0, "record 0"))
      val error = intercept[EpochalException](spark.read.format("epochal-rest").option("url", api.url).load())
      assert(error.condition.name == "SCHEMA_REQUIRED")
      val twice = intercept[EpochalException](plain.option("schema", ddl).schema("id INT").load())
      assert(twice.condition.name == "OPTION_CONFLICT")
    }
  }

  test("bad options are refused when the DataFrame is built, before any request") {
    RecordsApi.using(records = 1) { api =>
      val error = intercept[EpochalException](stream(api, "pageSizes" -> "5"))
      assert(error.getMessage.contains("Did you mean 'pageSize'?"))
      assert(api.requests().isEmpty)
    }
  }

  test("an unreachable server ends the query before its first batch, with the reason") {
    val gone = new RecordsApi
    gone.close()
    withTempDir { checkpoint =>
      val query =
        new Delivered().start(stream(gone, "retry.initialDelay" -> "1ms"), checkpoint, Trigger.ProcessingTime(0))
      val error = intercept[Exception](query.awaitTermination(60000))
      val ours = EpochalException.in(error)
      assert(ours.exists(_.condition.name == "HTTP_UNREACHABLE") && ours.exists(_.getMessage.contains("refused")))
      assert(new File(checkpoint, "offsets").list().isEmpty)
    }
  }

  test("a query over another API refuses the checkpoint") {
    RecordsApi.using(records = 5) { api =>
      RecordsApi.using(records = 5) { other =>
        withTempDir { checkpoint =>
          val delivered = new Delivered
          delivered.run(stream(api), checkpoint)
          val query = delivered.start(stream(other), checkpoint, Trigger.AvailableNow())
          val error = intercept[Exception](query.awaitTermination(60000))
          assert(EpochalException.in(error).exists(_.condition.name == "SOURCE_CHANGED"))
        }
      }
    }
  }

  test("secrets are in no plan, no progress and no checkpoint") {
    RecordsApi.using(records = 25) { api =>
      withTempDir { checkpoint =>
        val options = Seq(
          "url" -> s"${api.url.replace("://", "://me:s3cret@")}?key=s3cret",
          "headers.Authorization-Key" -> "s3cret",
          "params.p" -> "s3cret")
        val frame = stream(api, options: _*)
        val rows = batch(api, options: _*)
        val delivered = new Delivered
        val query = delivered.run(frame, checkpoint)
        assert(delivered.all.size == 25 && rows.count() == 25)
        val files = Files.walk(checkpoint.toPath).iterator().asScala.filter(Files.isRegularFile(_)).toSeq
        val texts = Seq(
          frame.queryExecution.toString,
          rows.queryExecution.toString,
          rows.queryExecution.executedPlan.treeString,
          query.toString) ++ query.recentProgress.map(_.json) ++ files.map(file => new String(Files.readAllBytes(file)))
        assert(files.nonEmpty)
        texts.foreach(text => assert(!text.contains("s3cret"), text))
      }
    }
  }

  test("a stopped query ends while its server keeps it waiting") {
    RecordsApi.using(records = 5) { api =>
      withTempDir { checkpoint =>
        @volatile var waiting = false
        api.before = () => {
          waiting = true
          try Thread.sleep(120000)
          catch { case _: InterruptedException => () }
        }
        val query = new Delivered().start(stream(api), checkpoint, Trigger.ProcessingTime(0))
        eventually(timeout(streamingTimeout))(assert(waiting))
        val begin = System.nanoTime()
        query.stop()
        assert((System.nanoTime() - begin) / 1000000000 < 15)
        assert(query.exception.isEmpty)
      }
    }
  }

  test("a first start that failed before any offset does not bind the checkpoint; one with an offset does") {
    RecordsApi.using(records = 3) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        def failing(more: (String, String)*): EpochalException = {
          val query = delivered.start(stream(api, more: _*), checkpoint, Trigger.AvailableNow())
          EpochalException.in(intercept[Exception](query.awaitTermination(60000))).get
        }
        val nowhere = Seq("url" -> "http://127.0.0.1:9/none", "retry.maxAttempts" -> "1")
        assert(failing(nowhere: _*).condition.name == "HTTP_UNREACHABLE")
        delivered.run(stream(api), checkpoint)
        assert(delivered.all == Seq(0, 1, 2))
        assert(failing(nowhere: _*).condition.name == "SOURCE_CHANGED")
      }
    }
  }

  test("pages that a start has journalled without logging an offset are not read by a query of another source") {
    RecordsApi.using(records = 3) { first =>
      RecordsApi.using(records = 5) { second =>
        withTempDir { checkpoint =>
          val delivered = new Delivered
          delivered.run(stream(first), checkpoint)
          // As if the query had been killed before it logged its first offset.
          Seq("offsets", "commits").foreach(one => FileUtils.deleteDirectory(new File(checkpoint, one)))
          val other = new Delivered
          other.run(stream(second), checkpoint)
          assert(other.all == Seq(0, 1, 2, 3, 4))
          assert(other.run(stream(second), checkpoint).exception.isEmpty && other.all.size == 5)
        }
      }
    }
  }
}
