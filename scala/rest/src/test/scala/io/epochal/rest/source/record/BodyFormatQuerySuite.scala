package io.epochal.rest.source.record

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.{ChainApi, RecordsApi}
import io.epochal.support.SlowTests.slowIf

/** Whole queries over responses in NDJSON and in CSV. */
final class BodyFormatQuerySuite extends QuerySuite {

  private def frame(api: RecordsApi, streaming: Boolean, schema: String, more: (String, String)*): DataFrame = {
    val options =
      Map("url" -> api.url, "pagination" -> "offset", "pageSize" -> "7", "retry.initialDelay" -> "1ms") ++ more
    if (streaming) spark.readStream.format("epochal-rest").schema(schema).options(options).load()
    else spark.read.format("epochal-rest").schema(schema).options(options).load()
  }

  private def chained(api: ChainApi, streaming: Boolean, more: (String, String)*): DataFrame = {
    val options =
      Map("url" -> api.url, "maxRowsPerBatch" -> "10", "metadataColumns" -> "_status") ++ more
    val schema = "id INT, name STRING"
    if (streaming) spark.readStream.format("epochal-rest").schema(schema).options(options).load()
    else spark.read.format("epochal-rest").schema(schema).options(options).load()
  }

  private def lines(array: String): String = array.drop(1).dropRight(1).replace("},{", "}\n{")

  private def csv(array: String): String = "id,name\n" + array.drop(1).dropRight(1).replace("\n,", "\n")

  private def refusal(more: (String, String)*): EpochalException = RecordsApi.using(1) { api =>
    intercept[EpochalException](frame(api, streaming = false, "id INT", more: _*))
  }

  Seq[(String, String => String, Int => String)](
    ("ndjson", lines, i => s"""{"id":$i,"name":"n$i"}"""),
    ("csv", csv, i => s"$i,n$i\n")).foreach { case (format, body, record) =>
    Seq(false, true).foreach { journal =>
      test(
        s"a stream over $format delivers every record once, through a restart and a growing API, journal=$journal",
        Slow) {
        RecordsApi.using(records = 25) { api =>
          api.body = body
          api.record = record
          @volatile var delivered = Seq.empty[Row]
          withTempDir { checkpoint =>
            Seq(25, 40).foreach { count =>
              api.count = count
              val options = Seq("bodyFormat" -> format, "maxRowsPerBatch" -> "10", "journal" -> s"$journal")
              val query = frame(api, streaming = true, "id INT, name STRING", options: _*).writeStream
                .foreachBatch((rows: DataFrame, _: Long) => delivered ++= rows.collect())
                .option("checkpointLocation", checkpoint.getPath)
                .trigger(Trigger.AvailableNow())
                .start()
              assert(query.awaitTermination(60000))
            }
            assert(delivered.sortBy(_.getInt(0)) == (0 until 40).map(i => Row(i, s"n$i")))
          }
        }
      }
    }

    Seq(
      "link" -> Seq("pagination" -> "link"),
      "cursor" -> Seq("pagination" -> "cursor", "nextCursorHeader" -> "X-Next", "cursorHeader" -> "X-Cursor")).foreach {
      case (kind, paging) =>
        test(
          s"$kind: pages of $format follow each other by a header, from batch to batch, and in a replay and a batch read",
          slowIf(kind != "link" || format == "csv"): _*) {
          ChainApi.using(records = 25) { api =>
            api.record = i => record(i.toInt)
            api.body = (records, _) => body(records.mkString("[", ",", "]"))
            withTempDir { checkpoint =>
              val reader = (streaming: Boolean) => chained(api, streaming, paging :+ ("bodyFormat" -> format): _*)
              @volatile var batches = Seq.empty[(Long, Seq[String])]
              def run(): Unit = {
                batches = Nil
                val query = reader(true).writeStream
                  .option("checkpointLocation", checkpoint.getPath)
                  .trigger(Trigger.AvailableNow())
                  .foreachBatch { (rows: DataFrame, n: Long) =>
                    batches :+= n -> rows.collect().map(row => s"${row(0)} ${row(1)} ${row(2)}").toSeq.sorted
                  }
                  .start()
                assert(query.awaitTermination(60000))
              }
              def expected(from: Int, until: Int) = (from until until).map(i => s"$i n$i 200").sorted
              run()
              assert(batches.flatMap(_._2).sorted == expected(0, 25))
              val last = batches.last
              Seq(s"${last._1}", s".${last._1}.crc").foreach(name =>
                java.nio.file.Files.deleteIfExists(checkpoint.toPath.resolve("commits").resolve(name)))
              api.count = 31
              run()
              assert(batches.head == last && batches.tail.flatMap(_._2).sorted == expected(25, 31))
              assert(reader(false).count() == 31)
              checkAnswer(reader(false).select("id", "name"), (0 until 31).map(i => Row(i, s"n$i")))
            }
          }
        }
    }

    test(s"a batch over $format reads only the columns it uses, and PERMISSIVE keeps a bad line", Slow) {
      RecordsApi.using(records = 10) { api =>
        api.body = body
        api.record = i => if (i == 8) record(i).replaceFirst("8", "\"eight\"") else record(i)
        val options = Seq("bodyFormat" -> format)
        assert(frame(api, streaming = false, "id INT, name STRING", options: _*).select("name").collect().length == 10)
        assert(frame(api, streaming = false, "id INT, name STRING", options: _*).count() == 10)
        val kept = frame(api, streaming = false, "id INT, name STRING", options :+ ("mode" -> "PERMISSIVE"): _*)
        assert(kept.where("_corrupt_record IS NOT NULL").count() == 1 && kept.where("id IS NULL").count() == 1)
        val error = intercept[Exception](frame(api, streaming = false, "id INT, name STRING", options: _*).collect())
        assert(EpochalException.in(error).exists(_.getMessage.contains("Record 8 of")))
      }
    }

    test(s"a page of HTML in place of $format is named at once, in any mode") {
      RecordsApi.using(records = 10) { api =>
        api.body = _ => "<html>busy</html>"
        val options = Seq("bodyFormat" -> format, "mode" -> "PERMISSIVE", "retry.maxAttempts" -> "2")
        val error = intercept[Exception](frame(api, streaming = false, "id INT", options: _*).collect())
        val ours = EpochalException.in(error).get
        assert(
          ours.condition.name == "HTTP_BODY_INVALID" && ours.getMessage.contains("(1 attempt): it begins with '<'"))
      }
    }
  }

  test("journalled pages are read with the options that split them, or not at all", Slow) {
    RecordsApi.using(records = 3) { api =>
      api.body = _ => "id;text\n1;\"a\nb\"\n2;c\n"
      withTempDir { checkpoint =>
        def run(more: (String, String)*): Unit = {
          val options =
            Seq("pagination" -> "none", "bodyFormat" -> "csv", "journal" -> "true", "sourceId" -> "a") ++ more
          val plain = spark.readStream.format("epochal-rest").schema("id INT, text STRING").option("url", api.url)
          val query = plain
            .options(options.toMap)
            .load()
            .writeStream
            .format("noop")
            .option("checkpointLocation", checkpoint.getPath)
            .trigger(Trigger.AvailableNow())
            .start()
          assert(query.awaitTermination(60000))
        }
        val header = intercept[Exception](run())
        assert(EpochalException.in(header).exists(_.condition.name == "CSV_HEADER_MISMATCH"))
        val changed = EpochalException.in(intercept[Exception](run("sep" -> ";"))).get
        assert(changed.condition.name == "OPTION_CONFLICT")
        assert(
          changed.getMessage.contains("sep=';', header=true, pages that were journalled with bodyFormat=csv, sep=',',"))
      }
    }
  }

  test("an invalid line of NDJSON fails the query after retries, or is kept or dropped by the mode", Slow) {
    RecordsApi.using(records = 10) { api =>
      api.body = lines(_).replace("""{"id":3}""", """{"id":3,""")
      api.record = i => s"""{"id":$i}"""
      val options = Seq("bodyFormat" -> "ndjson", "retry.maxAttempts" -> "2", "pageSize" -> "5")
      val error = intercept[Exception](frame(api, streaming = false, "id INT", options: _*).collect())
      assert(EpochalException.in(error).exists(_.condition.name == "HTTP_BODY_INVALID"))
      checkAnswer(
        frame(api, streaming = false, "id INT", options :+ ("mode" -> "DROPMALFORMED"): _*),
        (0 until 10).filter(_ != 3).map(Row(_)))
      checkAnswer(
        frame(api, streaming = false, "id INT", options :+ ("mode" -> "PERMISSIVE"): _*)
          .select("_corrupt_record")
          .where("id IS NULL"),
        Row("""{"id":3,"""))
    }
  }

  test("options of one format are refused with another, and so are types that CSV cannot hold") {
    Seq(
      Seq("bodyFormat" -> "ndjson", "records" -> "/data") -> "Set bodyFormat=json",
      Seq("sep" -> ";") -> "Set bodyFormat=csv",
      Seq("bodyFormat" -> "ndjson", "header" -> "false") -> "Set bodyFormat=csv",
      Seq("nullValue" -> "NA") -> "Set bodyFormat=csv",
      Seq("bodyFormat" -> "csv", "sep" -> ";;") -> "one ASCII character",
      Seq("bodyFormat" -> "xml") -> "one of json, ndjson, csv"
    ).foreach { case (options, hint) => assert(refusal(options: _*).getMessage.contains(hint), options) }
    RecordsApi.using(1) { api =>
      val error = intercept[EpochalException](frame(api, streaming = false, "a ARRAY<INT>", "bodyFormat" -> "csv"))
      assert(error.condition.name == "SCHEMA_INVALID" && error.getMessage.contains("a is ARRAY<INT>"))
    }
  }
}
