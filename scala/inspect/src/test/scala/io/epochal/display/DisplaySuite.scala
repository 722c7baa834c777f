package io.epochal.display

import java.nio.file.{Files, Path, Paths}
import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

/** Queries into displays. */
final class DisplaySuite extends QuerySuite {
  import testImplicits._

  private def shown(display: String): DataFrame =
    spark.read.format("epochal-display").option("display", display).load()

  /** Runs `body` with a query from the frame into a new display. */
  private def displaying(frame: DataFrame, mode: String = "append", options: Map[String, String] = Map.empty)(
      body: (String, StreamingQuery) => Unit): Path = {
    val display = UUID.randomUUID().toString
    val checkpoint = Paths.get(System.getProperty("java.io.tmpdir"), s"epochal-display-$display")
    val query = frame.writeStream
      .format("epochal-display")
      .options(options + ("display" -> display))
      .option("checkpointLocation", checkpoint.toString)
      .queryName(s"q_${display.take(8)}")
      .outputMode(mode)
      .start()
    try body(display, query)
    finally query.stop()
    checkpoint
  }

  test("append mode shows the last maxRows rows of all epochs, oldest first") {
    val numbers = MemoryStream[Int]
    val _ = displaying(numbers.toDF().coalesce(1), options = Map("maxRows" -> "5")) { (display, query) =>
      assert(shown(display).count() == 0)
      for (batch <- Seq(Seq(1, 2, 3), Seq(4), Seq(5, 6, 7))) {
        val _ = numbers.addData(batch)
        query.processAllAvailable()
      }
      assert(shown(display).as[Int].collect().toSeq == Seq(3, 4, 5, 6, 7))
      val metrics = query.lastProgress.sink.metrics.asScala
      assert(
        metrics("allRows") == "7" && metrics("keptRows") == "5" && metrics("epoch") == "2" && metrics("rows") == "3")
    }
  }

  test("complete mode shows the first maxRows rows of the last epoch, in their order", Slow) {
    val words = MemoryStream[String]
    val counts = words.toDF().groupBy("value").count().orderBy($"count".desc, $"value")
    val _ = displaying(counts, "complete", Map("maxRows" -> "2")) { (display, query) =>
      val _ = words.addData("a", "b", "b", "c", "c", "c")
      query.processAllAvailable()
      checkAnswer(shown(display), Seq(Row("c", 3), Row("b", 2)))
      val _ = words.addData("a", "a", "a")
      query.processAllAvailable()
      assert(shown(display).as[(String, Long)].collect().toSeq == Seq("a" -> 4L, "c" -> 3L))
    }
  }

  test("update mode shows the rows that changed last") {
    val words = MemoryStream[String]
    val _ = displaying(words.toDF().groupBy("value").count(), "update") { (display, query) =>
      for (word <- Seq("a", "b", "a")) {
        val _ = words.addData(word)
        query.processAllAvailable()
      }
      assert(shown(display).as[(String, Long)].collect().toSeq == Seq("a" -> 1L, "b" -> 1L, "a" -> 2L))
    }
  }

  test("maxBytes bounds the kept rows; a row that exceeds it alone is counted and not shown") {
    val texts = MemoryStream[String]
    val _ = displaying(texts.toDF().coalesce(1), options = Map("maxBytes" -> "1000")) { (display, query) =>
      val _ = texts.addData(("x" * 2000) +: Seq.tabulate(50)(i => s"$i" + "y" * 80))
      query.processAllAvailable()
      val kept = shown(display).as[String].collect()
      assert(kept.last.startsWith("49") && kept.map(_.length).sum <= 1000 && kept.length > 5)
      assert(query.lastProgress.sink.metrics.get("tooLargeRows") == "1")
    }
  }

  test("rows of every type are shown unchanged", Slow) {
    val numbers = MemoryStream[Int]
    val columns = Seq(
      "value",
      "CAST(NULL AS STRING) AS nothing",
      "CAST(1.10 AS DECIMAL(38, 18)) AS amount",
      "X'00FF' AS bytes",
      "named_struct('list', array(1, 2), 'map', map('k', TIMESTAMP'2026-01-01 00:00:00')) AS nested",
      "INTERVAL '1' MONTH AS period")
    val _ = displaying(numbers.toDF().selectExpr(columns: _*)) { (display, query) =>
      val _ = numbers.addData(1)
      query.processAllAvailable()
      checkAnswer(shown(display), Seq(1).toDF("value").selectExpr(columns: _*))
    }
  }

  test("a view over a display returns the current rows, and keeps the display after the query", Slow) {
    val numbers = MemoryStream[Int]
    val _ = displaying(numbers.toDF()) { (display, query) =>
      shown(display).createOrReplaceTempView("shown_numbers")
      for (count <- 1 to 2) {
        val _ = numbers.addData(count)
        query.processAllAvailable()
        checkAnswer(spark.sql("SELECT count(*), max(value) FROM shown_numbers"), Row(count, count))
      }
      query.stop()
      System.gc()
      checkAnswer(spark.table("shown_numbers"), Seq(Row(1), Row(2)))
    }
    spark.catalog.dropTempView("shown_numbers"): Unit
  }

  test("an unreferenced display is removed") {
    val name = UUID.randomUUID().toString
    def made(): Unit = {
      val schema = Seq(1).toDF("value").schema
      DisplayedRows.of(DisplaySettings(name, 1, 1, None, None), schema): Unit
    }
    made()
    eventually(timeout(streamingTimeout)) {
      System.gc()
      assert(DisplayedRows.find(name).isEmpty)
    }
    val error = intercept[Exception](shown(name))
    assert(error.getMessage.contains("[EPOCHAL.OPTION_INVALID]") && !error.getMessage.contains(name))
  }

  test("a temporary checkpoint is private, and removed when the query has ended or failed") {
    val numbers = MemoryStream[Int]
    val stopped = displaying(numbers.toDF()) { (display, query) =>
      val _ = numbers.addData(1)
      query.processAllAvailable()
      val checkpoint = Paths.get(System.getProperty("java.io.tmpdir"), s"epochal-display-$display")
      assert(Files.getPosixFilePermissions(checkpoint).size == 3)
    }
    val failing = MemoryStream[Int]
    val failed = displaying(failing.toDF().selectExpr("raise_error('no')")) { (_, query) =>
      val _ = failing.addData(1)
      val _ = intercept[Exception](query.processAllAvailable())
    }
    eventually(timeout(streamingTimeout))(assert(!Files.exists(stopped) && !Files.exists(failed)))
  }

  test("other checkpoints are kept, and a display that resumes from one begins with an empty view") {
    val numbers = MemoryStream[Int]
    withTempDir { checkpoint =>
      def run(number: Int): Seq[Int] = {
        val display = UUID.randomUUID().toString
        val _ = numbers.addData(number)
        val query = numbers
          .toDF()
          .writeStream
          .format("epochal-display")
          .option("display", display)
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .start()
        assert(query.awaitTermination(60000))
        shown(display).as[Int].collect().toSeq
      }
      assert(run(1) == Seq(1))
      assert(run(2) == Seq(2))
      assert(checkpoint.list().contains("offsets"))
    }
  }

  test("a batch write is refused, and options are validated before a query starts") {
    val _ = intercept[Exception](
      Seq(1).toDF("value").write.format("epochal-display").option("display", "x").mode("append").save())
    val error =
      intercept[Exception](displaying(MemoryStream[Int].toDF(), options = Map("maxRows" -> "0"))((_, _) => ()))
    assert(error.getMessage.contains("[EPOCHAL.OPTION_INVALID]"))
  }
}
