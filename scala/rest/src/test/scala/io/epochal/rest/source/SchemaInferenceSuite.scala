package io.epochal.rest.source

import java.io.File

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException

/** Schemas inferred from the first page. */
final class SchemaInferenceSuite extends QuerySuite {

  private def options(api: RecordsApi, more: Seq[(String, String)]): Map[String, String] =
    Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "10", "inferSchema" -> "true") ++ more

  private def batch(api: RecordsApi, more: (String, String)*): DataFrame =
    spark.read.format("epochal-rest").options(options(api, more)).load()

  private def run(api: RecordsApi, checkpoint: File, more: (String, String)*): StreamingQuery = {
    val query = spark.readStream
      .format("epochal-rest")
      .options(options(api, more))
      .load()
      .writeStream
      .foreachBatch((rows: DataFrame, _: Long) => rows.write.mode("append").saveAsTable("inferred"))
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(Trigger.AvailableNow())
      .start()
    assert(query.awaitTermination(60000))
    query
  }

  private def stored(): Long = {
    spark.catalog.refreshTable("inferred") // The query has its own session.
    spark.table("inferred").count()
  }

  private def refusal(body: => Any): EpochalException =
    EpochalException.in(intercept[Exception] { val _ = body }).getOrElse(fail("not an error of ours"))

  test("the schema is Spark's inference from the first page, which is requested at most once more") {
    RecordsApi.using(records = 25) { api =>
      api.record = i => s"""{"id":$i,"score":${if (i == 4) "1.5" else "1"},"tags":["a"],"sub":{"x":true},"none":null}"""
      val rows = batch(api)
      assert(rows.schema.toDDL == "id BIGINT,none STRING,score DOUBLE,sub STRUCT<x: BOOLEAN>,tags ARRAY<STRING>")
      assert(api.requests() == Seq("_start=0&_limit=10"))
      assert(rows.count() == 25)
    }
  }

  test("NDJSON and CSV are inferred too, CSV by its header's names", Slow) {
    RecordsApi.using(records = 3) { api =>
      api.body = array => array.drop(1).dropRight(1).replace("},{", "}\n{")
      assert(batch(api, "bodyFormat" -> "ndjson").schema.toDDL == "id BIGINT,name STRING")
      api.record = i => s"$i,1.$i,\"a\nb\"\n"
      api.body = array => "Id,score,text\n" + array.drop(1).dropRight(1).replace("\n,", "\n")
      val rows = batch(api, "bodyFormat" -> "csv")
      assert(rows.schema.toDDL == "Id INT,score DOUBLE,text STRING")
      checkAnswer(rows.where("Id = 1"), Row(1, 1.1, "a\nb"))
    }
  }

  test("added columns come after the inferred ones") {
    RecordsApi.using(records = 3) { api =>
      assert(
        batch(api, "mode" -> "PERMISSIVE", "metadataColumns" -> "_status").columns.toSeq ==
          Seq("id", "name", "_corrupt_record", "_status"))
    }
  }

  test("a query keeps its first schema, and refuses to start with another one", Slow) {
    RecordsApi.using(records = 5) { api =>
      withTempDir { checkpoint =>
        withTable("inferred") {
          run(api, checkpoint)
          api.count = 30
          run(api, checkpoint)
          assert(stored() == 30)
          api.record = i => s"""{"id":"text $i","name":"x"}"""
          val error = refusal(run(api, checkpoint))
          assert(error.condition.name == "SCHEMA_CHANGED")
          assert(error.getMessage.contains("is id STRING,name STRING, but the query began with id BIGINT,name STRING"))
          api.record = i => s"""{"id":$i,"name":"record $i"}"""
          api.count = 31
          run(api, checkpoint, "inferSchema" -> "false", "schema" -> "id BIGINT, name STRING")
          assert(stored() == 31)
        }
      }
    }
  }

  test("a page without records, or without fields, has no schema") {
    RecordsApi.using(records = 0) { api =>
      assert(refusal(batch(api)).condition.name == "SCHEMA_INFERENCE_FAILED")
      api.count = 2
      api.record = _ => "7"
      assert(refusal(batch(api)).getMessage.contains("its records have no fields"))
    }
  }

  test("a followed first page with null in place of its records has none, as for a running query") {
    RecordsApi.using(records = 0) { api =>
      api.body = _ => """{"data":null,"next":null}"""
      val paged = Seq("nextCursor" -> "/next", "records" -> "/data", "inferSchema" -> "true", "url" -> api.url)
      val reader = spark.read.format("epochal-rest").options(paged.toMap + ("pagination" -> "cursor"))
      val error = refusal(reader.load())
      assert(error.condition.name == "SCHEMA_INFERENCE_FAILED" && error.getMessage.contains("it has no records"), error)
      assert(reader.option("inferSchema", "false").schema("id INT").load().count() == 0)
    }
  }

  test("a schema is given or inferred, and not both") {
    RecordsApi.using(records = 2) { api =>
      assert(refusal(batch(api, "schema" -> "id INT")).condition.name == "OPTION_CONFLICT")
      val reader = spark.read.format("epochal-rest").schema("id INT").options(options(api, Nil))
      assert(refusal(reader.load()).condition.name == "OPTION_CONFLICT")
    }
  }
}
