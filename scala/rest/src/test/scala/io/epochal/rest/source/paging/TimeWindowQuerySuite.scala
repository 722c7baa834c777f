package io.epochal.rest.source.paging

import java.io.File
import java.nio.file.Files
import java.time.temporal.ChronoUnit.{MINUTES, SECONDS}
import java.time.{Duration, Instant}
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tagobjects.Slow

import io.epochal.rest.source.window.{Event, WindowApi}

/** Whole queries over an API of time windows, by the clock of this machine. */
final class TimeWindowQuerySuite extends QuerySuite {
  import testImplicits._

  /** The current window ends in two minutes. */
  private val origin = Instant.now().truncatedTo(SECONDS).minus(Duration.ofMinutes(58))

  private def stream(api: WindowApi, kind: String, more: (String, String)*): DataFrame =
    spark.readStream
      .format("epochal-rest")
      .schema("id INT, name STRING")
      .options(
        Map(
          "url" -> api.url,
          "pagination" -> "time-window",
          "records" -> "/data",
          "windowStart" -> s"$origin",
          "windowLength" -> "5m",
          "lag" -> "1s",
          "overlap" -> "20m",
          "keyColumns" -> "id") ++ WindowApi.kinds(kind) ++ more)
      .load()

  private def run(frame: DataFrame, checkpoint: File)(each: (Long, Seq[Int]) => Unit): Unit = {
    val query = frame.writeStream
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(Trigger.AvailableNow())
      .foreachBatch((rows: DataFrame, number: Long) => each(number, rows.select($"id").as[Int].collect().toSeq))
      .start()
    assert(query.awaitTermination(60000), "the query did not end")
  }

  test(
    "a batch whose commit was lost is replayed from the journal, and records that windows repeat are not delivered after it") {
    WindowApi.using { api =>
      withTempDir { checkpoint =>
        val batches = new ConcurrentHashMap[Long, Vector[Seq[Int]]]
        def deliver(more: (String, String)*): Unit =
          run(stream(api, "cursor", more: _*), checkpoint) { (number, ids) =>
            val _ = batches.merge(number, Vector(ids), _ ++ _)
          }
        def all: Seq[Int] = batches.asScala.toSeq.sortBy(_._1).flatMap(_._2.last)
        // The last three minutes are not a whole window yet.
        api.events = (0 until 28).map(id => Event(id, origin.plus(30L + id, MINUTES))).toVector
        deliver("maxRowsPerBatch" -> "8")
        assert(all == (0 until 25) && batches.get(3L) == Vector(Seq(24)))
        val served = api.events
        Seq("3", ".3.crc").foreach(name => Files.deleteIfExists(checkpoint.toPath.resolve("commits").resolve(name)))
        api.events = Vector.empty
        deliver("maxRowsPerBatch" -> "8")
        assert(batches.get(3L) == Vector(Seq(24), Seq(24)) && all == (0 until 25))
        api.events = served
        api.requests()
        deliver("windowLength" -> "10s", "overlap" -> "90s")
        assert(all == (0 until 28))
        assert(api.requests().head.startsWith(s"${origin.plus(Duration.ofSeconds(55 * 60 - 90))}/"))
      }
    }
  }

  test("a batch read and SELECT of some columns work as for any pagination", Slow) {
    WindowApi.using { api =>
      api.events = (0 until 30).map(id => Event(id, origin.plus(id.toLong, MINUTES))).toVector
      val options = Map(
        "url" -> api.url,
        "pagination" -> "time-window",
        "records" -> "/data",
        "windowStart" -> s"$origin",
        "windowLength" -> "5m") ++ WindowApi.kinds("page")
      val rows = spark.read.format("epochal-rest").schema("id INT, name STRING").options(options).load()
      assert(rows.select("id").as[Int].collect().toSeq == (0 until 30) && rows.count() == 30)
    }
  }
}
