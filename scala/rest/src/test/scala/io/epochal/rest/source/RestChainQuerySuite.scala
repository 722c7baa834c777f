package io.epochal.rest.source

import java.io.File
import java.nio.file.Files
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable.ListBuffer
import scala.concurrent.duration._
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.support.SlowTests.slowIf

/** Whole queries over APIs whose pages name the next one. */
final class RestChainQuerySuite extends QuerySuite {
  import testImplicits._

  private def stream(api: ChainApi, kind: String, more: (String, String)*): DataFrame =
    spark.readStream
      .format("epochal-rest")
      .schema("id INT, name STRING")
      .options(Map("url" -> api.url) ++ ChainApi.kinds(kind) ++ more)
      .load()

  /** The ids of every delivered batch, by its number; a replay adds another list. */
  final private class Delivered {
    private val batches = new ConcurrentHashMap[Long, Vector[Seq[Int]]]

    /** Called before each batch is delivered. */
    @volatile var before: Long => Unit = _ => ()

    def start(frame: DataFrame, checkpoint: File, trigger: Trigger): StreamingQuery =
      frame.writeStream
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(trigger)
        .foreachBatch { (rows: DataFrame, number: Long) =>
          before(number)
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

    /** The ids of all batches, by their last delivery. */
    def all: Seq[Int] = batches.asScala.toSeq.sortBy(_._1).flatMap(_._2.last)
  }

  private def forget(checkpoint: File, log: String, number: Long): Unit =
    Seq(s"$number", s".$number.crc").foreach(name => Files.deleteIfExists(checkpoint.toPath.resolve(log).resolve(name)))

  ChainApi.kinds.keys.foreach { kind =>
    test(
      s"$kind: a query that is stopped and restarted delivers every record once, while the API grows",
      slowIf(kind != "cursor"): _*) {
      ChainApi.using(records = 25) { api =>
        withTempDir { checkpoint =>
          val delivered = new Delivered
          Seq(25, 26, 60, 60, 71).foreach { count =>
            api.count = count
            val query =
              delivered.start(stream(api, kind, "maxRowsPerBatch" -> "10"), checkpoint, Trigger.ProcessingTime(0))
            try query.processAllAvailable()
            finally query.stop()
            assert(delivered.all == (0 until count))
          }
        }
      }
    }

    test(s"$kind: a batch read has all records, and the selected columns", Slow) {
      ChainApi.using(records = 57) { api =>
        val frame =
          spark.read
            .format("epochal-rest")
            .schema("id INT, name STRING")
            .options(ChainApi.kinds(kind).toMap + ("url" -> api.url))
            .load()
        checkAnswer(frame, (0 until 57).map(i => Row(i, s"record $i")))
        assert(frame.select("name").count() == 57)
      }
    }
  }

  test(
    "AvailableNow ends where it first sees the list's end, in batches of maxRowsPerBatch, though the list grows",
    Slow) {
    ChainApi.using(records = 25) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        delivered.before = _ => api.count += 5
        val query = delivered.run(stream(api, "cursor", "maxRowsPerBatch" -> "10"), checkpoint)
        assert(query.recentProgress.forall(_.numInputRows <= 10))
        assert(delivered.all.size >= 25 && delivered.all == delivered.all.indices)
        delivered.before = _ => ()
        delivered.run(stream(api, "cursor"), checkpoint)
        assert(delivered.all == (0 until api.count))
      }
    }
  }

  test(
    "a batch whose commit was lost is delivered again from the journal, though the API is down and has lost its records") {
    ChainApi.using(records = 35) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        delivered.run(stream(api, "cursor", "maxRowsPerBatch" -> "10"), checkpoint)
        assert(delivered(3) == Vector(30 until 35))
        forget(checkpoint, "commits", 3)
        api.before = () => 404
        val error = intercept[Exception](delivered.run(stream(api, "cursor", "numPartitions" -> "1"), checkpoint))
        assert(EpochalException.in(error).exists(_.condition.name == "HTTP_STATUS"))
        assert(delivered(3) == Vector(30 until 35, 30 until 35))
        api.before = () => 200
        api.count = 50
        delivered.run(stream(api, "cursor"), checkpoint)
        assert(delivered.all == (0 until 50))
      }
    }
  }

  test("a run that fails in a batch ending inside a page resumes from the journal, and requests no page twice", Slow) {
    ChainApi.using(records = 40) { api =>
      withTempDir { checkpoint =>
        api.pageSize = 20
        val delivered = new Delivered
        def frame = stream(api, "next-url", "maxRowsPerBatch" -> "7")
        val requests = ListBuffer.empty[String]
        delivered.before = number =>
          if (number == 1) {
            eventually(timeout(30.seconds)) {
              requests ++= api.requests()
              assert(requests.size == 2)
            }
            throw new IllegalStateException("the sink is gone")
          }
        intercept[Exception](delivered.run(frame, checkpoint))
        assert(delivered.all == (0 until 7))
        delivered.before = _ => ()
        delivered.run(frame, checkpoint)
        assert(delivered.all == (0 until 40) && delivered(1) == Vector(7 until 14))
        // Both runs searched for the end.
        assert(requests.toSeq ++ api.requests() == Seq("", "c20", "c20"))
      }
    }
  }

  test("a run that ends between the journal and the offset log requests again, and its segments are ignored", Slow) {
    ChainApi.using(records = 40) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        def frame = stream(api, "cursor", "maxRowsPerBatch" -> "10")
        delivered.run(frame, checkpoint)
        // As if the last batch had never been logged: its pages are in the journal, and no offset names them.
        Seq("commits", "offsets").foreach(forget(checkpoint, _, 3))
        val again = new Delivered
        again.run(frame, checkpoint)
        assert(again(3) == Vector(30 until 40))
      }
    }
  }

  test("a missing segment fails the replay by name, and is skipped with failOnDataLoss=false", Slow) {
    ChainApi.using(records = 20) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        delivered.run(stream(api, "cursor"), checkpoint)
        forget(checkpoint, "commits", 0)
        new File(checkpoint, "sources/0/journal").listFiles().foreach(_.delete())
        val error = intercept[Exception](delivered.run(stream(api, "cursor"), checkpoint))
        assert(EpochalException.in(error).exists(_.getMessage.contains("from offset 0 to 20 are gone")))
        api.count = 23
        delivered.run(stream(api, "cursor", "failOnDataLoss" -> "false"), checkpoint)
        assert(delivered(0).last.isEmpty && delivered(1) == Vector(20 until 23))
      }
    }
  }

  test("a journalled batch is replayed from the journal, even if the query no longer journals", Slow) {
    RecordsApi.using(records = 20) { api =>
      withTempDir { checkpoint =>
        def frame(journal: Boolean) = spark.readStream
          .format("epochal-rest")
          .schema("id INT, name STRING")
          .options(Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "5", "journal" -> journal.toString))
          .option("verifyPosition", "never") // The list changes.
          .load()
        val delivered = new Delivered
        delivered.run(frame(journal = true), checkpoint)
        forget(checkpoint, "commits", 0)
        api.record = i => s"""{"id":${100 + i}}"""
        api.count = 25
        delivered.run(frame(journal = false), checkpoint)
        assert(delivered(0).map(_.sorted) == Vector(0 until 20, 0 until 20))
        assert(delivered(1).map(_.sorted) == Vector(120 until 125))
      }
    }
  }

  test("an idle API gets no batch, and one request per poll") {
    ChainApi.using(records = 5) { api =>
      withTempDir { checkpoint =>
        val delivered = new Delivered
        val query =
          delivered.start(stream(api, "cursor", "refreshInterval" -> "0s"), checkpoint, Trigger.ProcessingTime(0))
        try {
          query.processAllAvailable()
          api.requests()
          query.processAllAvailable()
          assert(delivered.all == (0 until 5) && api.requests().distinct == Seq("c4"))
          assert(new File(checkpoint, "offsets").list().filterNot(_.endsWith(".crc")).toSeq == Seq("0"))
        } finally query.stop()
      }
    }
  }

  test("secrets that links repeat are in no plan, no progress, and no file of the checkpoint") {
    ChainApi.using(records = 25) { api =>
      withTempDir { checkpoint =>
        val frame = stream(api, "link", "params.api_key" -> "s3cret", "maxRowsPerBatch" -> "7")
        val delivered = new Delivered
        val query = delivered.run(frame, checkpoint)
        assert(delivered.all == (0 until 25))
        val files = Files.walk(checkpoint.toPath).iterator().asScala.filter(Files.isRegularFile(_)).toSeq
        val texts = frame.queryExecution.toString +: (query.recentProgress.map(_.json).toSeq ++
          files.map(file => new String(Files.readAllBytes(file))))
        assert(files.exists(_.toString.endsWith(".seg")))
        texts.foreach(text => assert(!text.contains("s3cret"), text))
      }
    }
  }
}
