package io.epochal.checkpoint

import java.nio.file.{Files, Path}

import org.apache.spark.sql.Row
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.{Conditions, EpochalException}

/** `format("epochal-checkpoint")` over checkpoints that Spark has written, and over damaged ones. */
final class CheckpointQuerySuite extends QuerySuite {
  import testImplicits._

  private def logged(checkpoint: Path) = spark.read.format("epochal-checkpoint").load(checkpoint.toString)

  private def write(checkpoint: Path, log: String, epoch: Int, text: String): Unit = {
    Files.createDirectories(checkpoint.resolve(log))
    Files.writeString(checkpoint.resolve(log).resolve(epoch.toString), text): Unit
  }

  private def withCheckpoint(body: Path => Any): Unit = withTempDir { directory =>
    body(directory.toPath.resolve("checkpoint")): Unit
  }

  test("the rows of a checkpoint contain the query's id and each source's offsets") {
    withCheckpoint { checkpoint =>
      val rows = spark.readStream.format("epochal-random").option("rowsPerBatch", "5").option("maxRows", "15").load()
      val query = rows.writeStream
        .format("noop")
        .option("checkpointLocation", checkpoint.toString)
        .trigger(Trigger.AvailableNow())
        .start()
      query.awaitTermination()
      val found = logged(checkpoint)
      val last = found.orderBy($"epoch".desc).first()
      assert(last.getAs[String]("query_id") == query.id.toString)
      assert(last.getAs[Boolean]("committed"))
      assert(last.getAs[Int]("source") == 0)
      assert(last.getAs[String]("offset").contains("\"rows\":15"))
      assert(last.getAs[java.sql.Timestamp]("logged_at").before(last.getAs[java.sql.Timestamp]("committed_at")))
      assert(!last.getAs[Boolean]("has_state"))
      assert(found.filter($"problem".isNotNull).isEmpty)
    }
  }

  test("the rows of an aggregation contain state stores and watermarks", Slow) {
    withCheckpoint { checkpoint =>
      val rows = spark.readStream.format("epochal-random").option("rowsPerBatch", "5").option("maxRows", "10").load()
      rows
        .withWatermark("timestamp", "1 second")
        .groupBy($"timestamp")
        .count()
        .writeStream
        .format("noop")
        .outputMode("append")
        .option("checkpointLocation", checkpoint.toString)
        .trigger(Trigger.AvailableNow())
        .start()
        .awaitTermination()
      val found = logged(checkpoint)
      assert(found.filter(!$"has_state").isEmpty)
      assert(found.selectExpr("max(watermark)").as[Long].first() > 0L)
    }
  }

  test("a torn or empty file is reported in its row") {
    withCheckpoint { checkpoint =>
      write(checkpoint, "offsets", 0, "v1\n{}\n1\n-")
      write(checkpoint, "offsets", 1, "")
      write(checkpoint, "commits", 0, "v1\n{\"nextBatchWatermarkMs\":3}")
      write(checkpoint, "commits", 2, "v1\n{\"next")
      val found = logged(checkpoint)
      checkAnswer(
        found.select("query_id", "epoch", "logged", "committed", "source", "offset", "next_watermark", "problem"),
        Seq(
          Row(null, 0L, true, true, 0, "1", 3L, null),
          Row(null, 0L, true, true, 1, null, 3L, null),
          Row(null, 1L, true, false, null, null, null, "offsets/1 cannot be read: it is empty"),
          Row(
            null,
            2L,
            false,
            false,
            null,
            null,
            null,
            "commits/2 cannot be read: its second line is not JSON: the file is torn")
        )
      )
    }
  }

  test("a checkpoint without epochs is one row with the query's id") {
    withCheckpoint { checkpoint =>
      Files.createDirectories(checkpoint)
      Files.writeString(checkpoint.resolve("metadata"), """{"id":"a"}""")
      checkAnswer(logged(checkpoint).select("query_id", "epoch"), Seq(Row("a", null)))
    }
  }

  test("a directory without a checkpoint is CHECKPOINT_NOT_FOUND") {
    withCheckpoint { checkpoint =>
      def error = intercept[EpochalException](logged(checkpoint).collect())
      assert(error.condition == Conditions.CheckpointNotFound)
      Files.createDirectories(checkpoint)
      assert(error.getMessage.contains("it has neither 'offsets'"))
    }
  }

  test("a path is required; a schema and a streaming read are refused") {
    withCheckpoint { checkpoint =>
      assert(
        intercept[EpochalException](spark.read.format("epochal-checkpoint").load()).condition ==
          Conditions.OptionRequired)
      assert(intercept[EpochalException] {
        spark.read.format("epochal-checkpoint").schema("id INT").load(checkpoint.toString)
      }.condition == Conditions.SchemaUnsupported)
      intercept[Exception](
        spark.readStream
          .format("epochal-checkpoint")
          .option("path", checkpoint.toString)
          .load()
          .writeStream
          .format("noop")
          .start()): Unit
    }
  }
}
