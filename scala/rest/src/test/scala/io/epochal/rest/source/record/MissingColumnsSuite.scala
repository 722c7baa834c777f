package io.epochal.rest.source.record

import org.apache.logging.log4j.Level
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.RecordsApi
import io.epochal.support.LoggedLines

/** Queries with a column that no record has. */
final class MissingColumnsSuite extends QuerySuite {

  private def options(api: RecordsApi, more: Seq[(String, String)]) =
    Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "4", "numPartitions" -> "2") ++ more

  private def batch(api: RecordsApi, schema: String, more: (String, String)*): DataFrame =
    spark.read.format("epochal-rest").schema(schema).options(options(api, more)).load()

  private def stream(api: RecordsApi, schema: String, more: (String, String)*): Unit = withTempDir { checkpoint =>
    val frame = spark.readStream.format("epochal-rest").schema(schema).options(options(api, more)).load()
    val query = frame.writeStream
      .format("noop")
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(Trigger.AvailableNow())
      .start()
    assert(query.awaitTermination(60000))
  }

  private def logged(body: => Unit): Seq[String] =
    LoggedLines.of(Level.WARN)(body).filter(_.contains("COLUMNS_MISSING"))

  test("a batch and a stream log a column that no record has, once per query", Slow) {
    RecordsApi.using(records = 20) { api =>
      Seq[() => Unit](
        () => assert(batch(api, "id INT, nmae STRING").collect().length == 20),
        () => assert(batch(api, "id INT, nmae STRING").take(1).length == 1),
        () => stream(api, "id INT, nmae STRING", "maxRowsPerBatch" -> "8"),
        () => stream(api, "id INT, nmae STRING", "maxRowsPerBatch" -> "8", "journal" -> "true")
      ).foreach { run =>
        val lines = logged(run())
        assert(lines.size == 1 && lines.head.contains("the columns nmae; the first record has id, name"), lines)
      }
    }
  }

  test("nothing is logged of columns that are there, or that the query does not use", Slow) {
    RecordsApi.using(records = 20) { api =>
      assert(logged {
        batch(api, "id INT, name STRING").collect(): Unit
        batch(api, "id INT, nmae STRING").select("id").collect(): Unit
        batch(api, "id INT, nmae STRING").count(): Unit
        stream(api, "id INT, name STRING", "metadataColumns" -> "_url", "mode" -> "PERMISSIVE")
      }.isEmpty)
    }
  }

  test("requireColumns=true fails the batch and the stream", Slow) {
    RecordsApi.using(records = 20) { api =>
      Seq[() => Unit](
        () => batch(api, "id INT, nmae STRING", "requireColumns" -> "true").collect(): Unit,
        () => stream(api, "id INT, nmae STRING", "requireColumns" -> "true"),
        () => stream(api, "id INT, nmae STRING", "requireColumns" -> "true", "journal" -> "true")
      ).foreach { run =>
        val error = EpochalException.in(intercept[Exception](run())).get
        assert(error.condition.name == "COLUMNS_MISSING" && error.getMessage.contains("nmae"), error.getMessage)
      }
      val refusal = intercept[EpochalException](batch(api, "id INT", "bodyFormat" -> "csv", "requireColumns" -> "true"))
      assert(refusal.condition.name == "OPTION_CONFLICT")
    }
  }
}
