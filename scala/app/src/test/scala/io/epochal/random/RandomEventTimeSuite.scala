package io.epochal.random

import java.io.File
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Instant

import scala.jdk.CollectionConverters._

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.Row
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite

/** Event time from rows to checkpoint and progress, in queries. */
final class RandomEventTimeSuite extends QuerySuite {

  /** Milliseconds that a query may take on a busy machine. */
  private val Patience = 300000L

  private def strings(options: (String, String)*) =
    spark.readStream
      .format("epochal-random")
      .options(Map("eventTimeColumn" -> "TIMESTAMP", "numPartitions" -> "2") ++ options)
      .load()

  private def offset(checkpoint: File, epoch: Int): String =
    FileUtils.readFileToString(new File(checkpoint, s"offsets/$epoch"), UTF_8).linesIterator.toSeq.last

  private def mark(offset: String): Option[Instant] =
    "\"eventTime\":\"([^\"]+)\"".r.findFirstMatchIn(offset).map(found => Instant.parse(found.group(1)))

  private def run(checkpoint: File, options: (String, String)*): Seq[Map[String, String]] = {
    val query = strings(options: _*).writeStream
      .format("noop")
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(Trigger.AvailableNow())
      .start()
    assert(query.awaitTermination(Patience))
    query.recentProgress.filter(_.numInputRows > 0).map(_.sources.head.metrics.asScala.toMap).toSeq
  }

  test("each offset has the highest timestamp of the rows before its batch, across a restart") {
    withTempDir { checkpoint =>
      val first = run(checkpoint, "rowsPerBatch" -> "10", "maxRows" -> "20")
      assert(first.map(_.get("eventTime")) == Seq(Some("2000-01-01T00:00:00.900Z"), Some("2000-01-01T00:00:01.900Z")))
      assert(first.forall(_("eventTimeLag").toDouble > 20 * 365 * 86400))
      assert(mark(offset(checkpoint, 0)).isEmpty)
      assert(mark(offset(checkpoint, 1)).contains(Instant.parse("2000-01-01T00:00:00.900Z")))
      assert(run(checkpoint, "rowsPerBatch" -> "10", "maxRows" -> "20").isEmpty)
      assert(!new File(checkpoint, "offsets/2").exists)
      val second = run(checkpoint, "rowsPerBatch" -> "10", "maxRows" -> "40")
      assert(second.map(_("eventTime")) == Seq("2000-01-01T00:00:02.900Z", "2000-01-01T00:00:03.900Z"))
      assert(mark(offset(checkpoint, 2)).contains(Instant.parse("2000-01-01T00:00:01.900Z")))
      assert(mark(offset(checkpoint, 3)).contains(Instant.parse("2000-01-01T00:00:02.900Z")))
      val rows = spark.read.format("epochal-checkpoint").load(checkpoint.getPath)
      // The last one has the mark that the run left at its end.
      val micros = Seq(None, Some(946684800900000L), Some(946684801900000L), Some(946684803900000L))
      checkAnswer(
        rows.selectExpr("epoch", "unix_micros(event_time)"),
        micros.zipWithIndex.map { case (at, epoch) => Row(epoch.toLong, at.orNull) })
    }
  }

  test("a query can add the column later and remove it again") {
    withTempDir { checkpoint =>
      def go(rows: Int, column: Boolean): Unit = {
        val options = Map("rowsPerBatch" -> "10", "maxRows" -> rows.toString) ++
          Option.when(column)("eventTimeColumn" -> "timestamp")
        val query = spark.readStream
          .format("epochal-random")
          .options(options)
          .load()
          .writeStream
          .format("noop")
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .start()
        assert(query.awaitTermination(Patience))
      }
      go(10, column = false)
      go(30, column = true)
      go(40, column = false)
      assert((0 to 3).map(n => mark(offset(checkpoint, n)).isDefined) == Seq(false, false, true, false))
    }
  }

  test("an epoch of a continuous query ends with the mark of its rows") {
    withTempDir { checkpoint =>
      val query = strings("rowsPerSecond" -> "100").writeStream
        .format("noop")
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(Trigger.Continuous(200))
        .start()
      try
        eventually(timeout(streamingTimeout)) {
          val logged = Option(new File(checkpoint, "offsets").list).toSeq.flatten.flatMap(_.toIntOption)
          val last = offset(checkpoint, logged.max)
          val rows = "\"rows\":(\\d+)".r.findFirstMatchIn(last).map(_.group(1).toLong)
          val counts = "\"partitions\":\\[(\\d+),(\\d+)\\]".r
            .findFirstMatchIn(last)
            .fold(Seq(0L, 0L))(found => Seq(found.group(1).toLong, found.group(2).toLong))
          // After the first `rows` rows, partition p has the ids rows + p, rows + p + 2, …
          val highest = counts.zipWithIndex
            .collect { case (n, p) if n > 0 => rows.get + p + 2 * (n - 1) }
            .maxOption
            .getOrElse(rows.get - 1)
          assert(mark(last).contains(Instant.parse("2000-01-01T00:00:00Z").plusMillis(10 * highest)))
        }
      finally query.stop()
    }
  }

  test("an unknown column is refused before the query starts, and the error suggests the right one") {
    val error =
      intercept[Exception](spark.readStream.format("epochal-random").option("eventTimeColumn", "timestmp").load())
    assert(error.getMessage.contains("[EPOCHAL.OPTION_INVALID]"))
    assert(error.getMessage.contains("Did you mean eventTimeColumn=timestamp?"))
  }
}
