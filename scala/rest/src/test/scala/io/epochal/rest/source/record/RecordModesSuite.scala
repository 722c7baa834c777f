package io.epochal.rest.source.record

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.RecordsApi

/** Records that do not fit, fields without a column, and columns for the origin of rows. */
final class RecordModesSuite extends QuerySuite {
  import testImplicits._

  private val ddl = "id INT, name STRING"

  /** Every third record has a text in place of its number, and one more field. */
  private def odd(i: Int): String =
    if (i % 3 == 2) s"""{"id":"no $i","name":"n$i","more":[$i]}""" else s"""{"id":$i,"name":"n$i"}"""

  private def using(records: Int)(body: RecordsApi => Unit): Unit = RecordsApi.using(records) { api =>
    api.record = odd
    body(api)
  }

  private def frame(api: RecordsApi, streaming: Boolean, schema: String, more: (String, String)*): DataFrame = {
    val options = Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "4", "numPartitions" -> "2") ++ more
    if (streaming) spark.readStream.format("epochal-rest").schema(schema).options(options).load()
    else spark.read.format("epochal-rest").schema(schema).options(options).load()
  }

  private def refusal(more: (String, String)*)(schema: String): EpochalException =
    RecordsApi.using(1)(api => intercept[EpochalException](frame(api, streaming = false, schema, more: _*)))

  test("FAILFAST is the default: the query fails with the record's index, and with no value of it") {
    using(9) { api =>
      val error = intercept[Exception](frame(api, streaming = false, ddl, "numPartitions" -> "1").collect())
      val ours = EpochalException.in(error).get
      assert(ours.condition.name == "RECORD_INVALID" && ours.getMessage.contains("Record 2 of"))
      assert(!ours.getMessage.contains("no 2"))
    }
  }

  test("PERMISSIVE keeps the fields that fit, and adds a column with the whole record as received") {
    using(4) { api =>
      val rows = frame(api, streaming = false, ddl, "mode" -> "PERMISSIVE")
      assert(rows.columns.toSeq == Seq("id", "name", "_corrupt_record"))
      checkAnswer(rows, Seq(Row(0, "n0", null), Row(1, "n1", null), Row(null, "n2", odd(2)), Row(3, "n3", null)))
      checkAnswer(rows.select("id").where($"_corrupt_record".isNotNull), Row(null))
    }
  }

  test("PERMISSIVE puts the record where the schema has the column") {
    using(3) { api =>
      val rows =
        frame(api, streaming = false, s"bad STRING, $ddl", "mode" -> "permissive", "columnNameOfCorruptRecord" -> "bad")
      checkAnswer(rows, Seq(Row(null, 0, "n0"), Row(null, 1, "n1"), Row(odd(2), null, "n2")))
    }
  }

  test("DROPMALFORMED drops the record, for any selected columns, with the same offsets", Slow) {
    using(20) { api =>
      val rows = frame(api, streaming = false, ddl, "mode" -> "DROPMALFORMED")
      val kept = (0 until 20).filter(_ % 3 != 2)
      assert(rows.as[(Int, String)].collect().map(_._1).toSeq == kept)
      assert(rows.count() == kept.size && rows.select("name").collect().length == kept.size)
      withTempDir { checkpoint =>
        val query = frame(api, streaming = true, ddl, "mode" -> "DROPMALFORMED", "maxRowsPerBatch" -> "6").writeStream
          .format("memory")
          .queryName("kept")
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .start()
        assert(query.awaitTermination(60000))
        checkAnswer(spark.table("kept").select("id"), kept.map(Row(_)))
        assert(query.lastProgress.sources.head.endOffset.contains("\"records\":20"))
      }
    }
  }

  test("a record without a NOT NULL field does not fit; under PERMISSIVE nothing is NOT NULL") {
    using(3) { api =>
      api.record = i => if (i == 1) """{"id":null,"name":"x"}""" else odd(i % 2)
      checkAnswer(
        frame(api, streaming = false, "id INT NOT NULL, name STRING", "mode" -> "DROPMALFORMED"),
        Seq(Row(0, "n0"), Row(0, "n0")))
    }
    val error = refusal("mode" -> "PERMISSIVE")("id INT NOT NULL")
    assert(error.condition.name == "SCHEMA_INVALID" && error.getMessage.contains("cannot be NOT NULL"))
  }

  /** Checks that no value fits the column `x`, in every way of reading. */
  private def areBad(kind: String, values: String*): Unit = using(values.size + 2) { api =>
    def bad(i: Int): String = s"""{"id":$i,"x":${values(i - 1)}}"""
    val schema = s"id INT, x $kind"
    Seq(Nil, Seq("rescuedDataColumn" -> "_rescued")).foreach { rescued =>
      def rows(mode: String) = frame(api, streaming = false, schema, rescued :+ ("mode" -> mode): _*)
      values.indices.map(_ + 1).foreach { only =>
        api.record = i => if (i == only) bad(i) else s"""{"id":$i,"x":null}"""
        val failure = intercept[Exception](rows("FAILFAST").collect())
        val ours = EpochalException.in(failure).get
        assert(ours.condition.name == "RECORD_INVALID" && ours.getMessage.contains("'x"), ours.getMessage)
      }
      api.record = i => if (values.indices.contains(i - 1)) bad(i) else s"""{"id":$i,"x":null}"""
      assert(rows("DROPMALFORMED").select("id").collect().toSet == Set(Row(0), Row(values.size + 1)))
      val kept = rows("PERMISSIVE").where($"_corrupt_record".isNotNull).select("id", "x", "_corrupt_record")
      assert(kept.collect().toSet == (1 to values.size).map(i => Row(i, null, bad(i))).toSet)
    }
  }

  test("a number beyond the range of its type does not fit: it does not become Infinity", Slow) {
    areBad("DOUBLE", "1e400", "-1e400", s"1${"0" * 320}", s"1${"0" * 320}.5")
    areBad("FLOAT", "1e39", "-1e400")
    areBad("ARRAY<DOUBLE>", "[1, 1e400]")
    areBad("MAP<STRING, DOUBLE>", """{"key":1e400}""")
    areBad("STRUCT<y: DOUBLE>", """{"y":1e400}""")
    areBad("VARIANT", "1e400")
  }

  test("an unpaired surrogate does not fit: it does not become a question mark", Slow) {
    val text = "\"a\\udc00\""
    areBad("ARRAY<STRING>", s"[$text]")
    areBad("MAP<STRING, STRING>", s"""{"key":$text}""")
    areBad("STRUCT<y: STRING>", s"""{"y":$text}""")
    areBad("VARIANT", text)
    areBad("STRING", Seq("\\ud800", "a\\udc00", "\\ud800\\ud800", "\\ud83d x \\ude00").map(text => s""""$text""""): _*)
  }

  test("numbers and texts at the limits are read unchanged") {
    using(1) { api =>
      val pair = "\"\\ud83d\\ude00\""
      api.record = _ => s"""{"d":1.7976931348623157e308,"f":3.4028235e38,"s":$pair,"a":[$pair],"i":Infinity}"""
      val schema = "d DOUBLE, f FLOAT, s STRING, a ARRAY<STRING>, i DOUBLE"
      val edge = Row(Double.MaxValue, Float.MaxValue, "😀", Seq("😀"), Double.PositiveInfinity)
      checkAnswer(frame(api, streaming = false, schema), edge)
      checkAnswer(frame(api, streaming = false, schema, "rescuedDataColumn" -> "r").drop("r"), edge)
    }
  }

  test("an invalid body fails in every mode") {
    using(3) { api =>
      api.body = _ => "<html>busy</html>"
      val options = Seq("mode" -> "PERMISSIVE", "retry.maxAttempts" -> "2", "retry.initialDelay" -> "1ms")
      val error = intercept[Exception](frame(api, streaming = false, ddl, options: _*).collect())
      assert(EpochalException.in(error).exists(_.condition.name == "HTTP_BODY_INVALID"))
    }
  }

  test("fields without a column go into rescuedDataColumn as JSON, as they were written", Slow) {
    using(3) { api =>
      val rows = frame(api, streaming = false, "name STRING", "rescuedDataColumn" -> "_rescued_data")
      checkAnswer(
        rows,
        Seq(Row("n0", """{"id":0}"""), Row("n1", """{"id":1}"""), Row("n2", """{"id":"no 2","more":[2]}""")))
      assert(rows.select("name").collect().length == 3)
      checkAnswer(rows.select("_rescued_data").limit(1), Row("""{"id":0}"""))
    }
  }

  test("_url, _status and _fetchedAt describe each row's response, in streams too, and the URL has no secrets") {
    using(6) { api =>
      api.record = i => s"""{"id":$i,"_status":"mine"}"""
      withTempDir { checkpoint =>
        val begin = System.currentTimeMillis()
        val options = Seq(
          "url" -> s"${api.url.replace("://", "://me:s3cret@")}?key=s3cret",
          "params.token" -> "s3cret",
          "metadataColumns" -> "_url, _status, _fetchedAt")
        val query = frame(api, streaming = true, "id INT", options: _*).writeStream
          .format("memory")
          .queryName("responses")
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .start()
        assert(query.awaitTermination(60000))
        val found = spark.table("responses").orderBy("id").collect()
        assert(found.map(_.getInt(0)).toSeq == (0 until 6))
        assert(
          found.map(_.getString(1)).distinct.toSeq == Seq(
            s"${api.url}?_start=0&_limit=4",
            s"${api.url}?_start=4&_limit=4"))
        assert(found.forall(_.getInt(2) == 200))
        assert(found.map(_.getTimestamp(3).getTime).forall(t => t >= begin && t <= System.currentTimeMillis()))
        checkAnswer(frame(api, streaming = false, "id INT", options: _*).select("_status").distinct(), Row(200))
      }
    }
  }

  test("_headers has the headers of each row's response, without those that may be secret", Slow) {
    using(6) { api =>
      api.record = i => s"""{"id":$i}"""
      api.headers = Seq(
        "X-Total-Count" -> "6",
        "Link" -> "<https://x/?key=s3cret&page=2>; rel=next",
        "Vary" -> "Accept",
        "Vary" -> "Origin",
        "Set-Cookie" -> "id=1",
        "X-Auth-Token" -> "t",
        "X-Session-Id" -> "s"
      )
      val rows =
        frame(api, streaming = false, "id INT", "metadataColumns" -> "_headers,_status", "params.key" -> "s3cret")
      assert(rows.columns.toSeq == Seq("id", "_headers", "_status"))
      checkAnswer(
        rows.selectExpr("id", "_headers['x-total-count']", "_headers['link']", "_headers['vary']"),
        (0 until 6).map(i => Row(i, "6", "<https://x/?key=***&page=2>; rel=next", "Accept, Origin")))
      val names = rows.selectExpr("explode(map_keys(_headers))").as[String].collect().toSet
      assert(names.contains("content-type") && !names.exists(_.matches(".*(cookie|token|session).*")))
    }
  }

  test("the progress counts the records of a run that do not fit, each once", Slow) {
    using(20) { api =>
      withTempDir { checkpoint =>
        val query = frame(
          api,
          streaming = true,
          ddl,
          "mode" -> "DROPMALFORMED",
          "maxRowsPerBatch" -> "6",
          "numPartitions" -> "2").writeStream
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .foreachBatch { (rows: DataFrame, _: Long) =>
            val _ = rows.collect()
          }
          .start()
        assert(query.awaitTermination(60000))
        val counts = query.recentProgress.map(_.sources(0).metrics.get("malformed").toInt).toSeq
        assert(counts.last == (0 until 20).count(_ % 3 == 2) && counts == counts.sorted && counts.head == 2)
      }
    }
  }

  test(
    "a record larger than maxRecordBytes does not fit, regardless of its content, and is truncated to that size",
    Slow) {
    using(4) { api =>
      val large = "x" * 2000
      api.record = i => if (i < 2) odd(i) else s"""{"id":${if (i == 2) "2" else "{}"},"name":"$large"}"""
      val limit = "maxRecordBytes" -> "1k"
      val error = intercept[Exception](frame(api, streaming = false, ddl, limit).collect())
      val ours = EpochalException.in(error).get.getMessage
      assert(ours.contains("Record 2 of") && ours.contains("it has 2018 bytes, and maxRecordBytes is 1024"))
      checkAnswer(frame(api, streaming = false, ddl, limit, "mode" -> "DROPMALFORMED"), Seq(Row(0, "n0"), Row(1, "n1")))
      checkAnswer(
        frame(api, streaming = false, ddl, limit, "mode" -> "PERMISSIVE")
          .where("id IS NULL")
          .selectExpr("name", "length(_corrupt_record)"),
        Seq(Row(null, 1024), Row(null, 1024)))
      checkAnswer(
        frame(api, streaming = false, "id STRING, name STRING", "maxRecordBytes" -> "2019").select("id"),
        Seq("0", "1", "2", "{}").map(Row(_)))
    }
  }

  test("special columns must have their type and a distinct name") {
    assert(refusal("mode" -> "PERMISSIVE")("id INT, _corrupt_record INT").getMessage.contains("must be STRING"))
    assert(refusal("metadataColumns" -> "_status")("id INT, _status STRING").getMessage.contains("must be INT"))
    val misspelt = refusal("metadataColumns" -> "_url,_stats")("id INT")
    assert(misspelt.condition.name == "OPTION_INVALID")
    assert(misspelt.getMessage.contains("Did you mean metadataColumns=_url,_status?"), misspelt.getMessage)
    assert(refusal("columnNameOfCorruptRecord" -> "bad")("id INT").getMessage.contains("Set mode=PERMISSIVE"))
    assert(
      refusal("mode" -> "PERMISSIVE", "rescuedDataColumn" -> "_corrupt_record")("id INT").condition.name ==
        "OPTION_CONFLICT")
  }

  test("a time without a date is no TIMESTAMP, at any depth: it would be another one on another day") {
    val times = Seq(
      "\"12:30:00\"",
      "\"T12:30\"",
      "\" 1:02\"",
      "\"12:30:00Z\"",
      "\"12:30:00 Europe/Berlin\"",
      "\"now\"",
      "\"today\"")
    areBad("TIMESTAMP", times: _*)
    areBad("TIMESTAMP_NTZ", times: _*)
    areBad("ARRAY<TIMESTAMP>", times.map(time => s"[$time]"): _*)
    areBad("MAP<STRING, TIMESTAMP>", times.map(time => s"""{"k":$time}"""): _*)
    areBad("STRUCT<a: TIMESTAMP>", times.map(time => s"""{"a":$time}"""): _*)
    areBad("DATE", times: _*)
    using(3) { api =>
      val texts = Seq("2026-01-31 12:30", "2026-01-31T12:30:00Z", "2026")
      api.record = i => s"""{"x":"${texts(i)}"}"""
      assert(frame(api, streaming = false, "x TIMESTAMP").where("x IS NOT NULL").count() == 3)
    }
  }

  test("CSV: a time without a date is no TIMESTAMP, and no schema is inferred from it") {
    using(3) { api =>
      api.body = _ => "id,x\n1,2026-01-31 12:30:00\n2,12:30:00\n3,\n"
      def rows(schema: String, more: (String, String)*) =
        spark.read
          .format("epochal-rest")
          .schema(schema)
          .options(Map("url" -> api.url, "bodyFormat" -> "csv") ++ more)
          .load()
      val error = intercept[Exception](rows("id INT, x TIMESTAMP").collect())
      assert(EpochalException.in(error).exists(_.getMessage.contains("the column 'x' is TIMESTAMP")), error)
      assert(rows("id INT, x TIMESTAMP", "mode" -> "DROPMALFORMED").select("id").as[Int].collect().toSeq == Seq(1, 3))
      val kept = rows("id INT, x TIMESTAMP", "mode" -> "PERMISSIVE").select("id", "x", "_corrupt_record").collect()
      assert(kept(1) == Row(2, null, "2,12:30:00") && !kept(0).isNullAt(1))
      api.body = _ => "id,x\n1,12:30:00\n2,12:31:00\n"
      val inferred = spark.read
        .format("epochal-rest")
        .options(Map("url" -> api.url, "bodyFormat" -> "csv", "inferSchema" -> "true"))
        .load()
      assert(
        inferred.schema.toDDL == "id INT,x STRING" || inferred.schema("x").dataType.typeName.startsWith("time("),
        inferred.schema)
    }
  }
}
