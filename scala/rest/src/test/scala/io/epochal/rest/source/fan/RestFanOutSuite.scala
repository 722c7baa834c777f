package io.epochal.rest.source.fan

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.TaggedApi
import io.epochal.support.SlowTests.slowIf

/** Whole queries over several lists of an API. */
final class RestFanOutSuite extends QuerySuite {
  import testImplicits._

  private def options(
      api: TaggedApi,
      kind: String,
      lists: Seq[String],
      more: (String, String)*): Map[String, String] = {
    val table = lists.map(list => s"""{"list":"$list"}""").mkString("[", ",", "]")
    (TaggedApi.kinds(kind) ++ Seq(
      "url" -> s"${api.url}/$${list}",
      "partitionParams" -> table,
      "metadataColumns" -> "_params",
      "retry.initialDelay" -> "1ms",
      "numPartitions" -> "2") ++ more).toMap
  }

  private def using(lists: (String, Int)*)(body: TaggedApi => Unit): Unit = TaggedApi.using(0) { api =>
    lists.foreach { case (list, count) => api.counts.update(list, count) }
    body(api)
  }

  private def rows(list: String, ids: Range): Seq[Row] = ids.map(i => Row(i, s"$list $i", list))

  private def shown(frame: DataFrame): DataFrame = frame.selectExpr("id", "name", "_params['list'] AS list")

  TaggedApi.kinds.keys.toSeq.sorted.foreach { kind =>
    test(
      s"$kind: a batch read has the records of each row of the table, with its parameters",
      slowIf(kind != "cursor"): _*) {
      using("a" -> 6, "b&c" -> 0, "d/e" -> 9) { api =>
        val frame = spark.read
          .format("epochal-rest")
          .schema("id INT, name STRING")
          .options(options(api, kind, Seq("a", "b&c", "d/e")))
          .load()
        checkAnswer(shown(frame), rows("a", 0 until 6) ++ rows("d/e", 0 until 9))
        assert(frame.count() == 15)
      }
    }

    test(
      s"$kind: AvailableNow delivers each list up to its end at the start; lists are added and removed from run to run",
      Slow) {
      using("a" -> 6, "b" -> 3, "c" -> 5) { api =>
        withTempDir { checkpoint =>
          @volatile var out = Seq.empty[Row]
          def run(lists: String*): Unit = {
            val query = shown(
              spark.readStream
                .format("epochal-rest")
                .schema("id INT, name STRING")
                .options(options(api, kind, lists, "maxRowsPerBatch" -> "4"))
                .load()).writeStream
              .foreachBatch((batch: DataFrame, _: Long) => out ++= batch.collect())
              .option("checkpointLocation", checkpoint.getPath)
              .trigger(Trigger.AvailableNow())
              .start()
            assert(query.awaitTermination(60000), "the query did not end")
            query.exception.foreach(throw _)
          }
          def delivered(expected: Seq[Row]*): Unit = {
            val _ = assert(out.map(_.toString).sorted == expected.flatten.map(_.toString).sorted)
          }
          run("a", "b")
          delivered(rows("a", 0 until 6), rows("b", 0 until 3))
          api.counts ++= Seq("a" -> 7, "b" -> 8)
          run("b", "c")
          delivered(rows("a", 0 until 6), rows("b", 0 until 8), rows("c", 0 until 5))
          run("c", "b", "a")
          delivered(rows("a", 0 until 7), rows("b", 0 until 8), rows("c", 0 until 5))
        }
      }
    }
  }

  test("maxRowsPerBatch is shared among lists with a backlog, and a short one leaves its part to the others", Slow) {
    using("a" -> 30, "b" -> 2, "c" -> 30, "d" -> 0) { api =>
      withTempDir { checkpoint =>
        val query = spark.readStream
          .format("epochal-rest")
          .schema("id INT, name STRING")
          .options(options(api, "offset", Seq("a", "b", "c", "d"), "maxRowsPerBatch" -> "12"))
          .load()
          .writeStream
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .foreachBatch { (batch: DataFrame, number: Long) =>
            val counts =
              batch.select("_params.list").as[String].collect().groupBy(identity).map(list => list._1 -> list._2.length)
            val fair = if (number == 0) Map("a" -> 5, "b" -> 2, "c" -> 5) else Map("a" -> 6, "c" -> 6)
            val _ = assert(counts == fair || number > 4, number)
          }
          .start()
        assert(query.awaitTermination(60000), "the query did not end")
        query.exception.foreach(throw _)
        assert(query.lastProgress.sources(0).metrics.get("rowsBehind") == "0")
      }
    }
  }

  test("a list that fails ends the query; once it responds again no record of any list is lost or delivered twice") {
    using("a" -> 6, "b" -> 6) { api =>
      withTempDir { checkpoint =>
        def run(): Option[Throwable] = {
          val query = shown(
            spark.readStream
              .format("epochal-rest")
              .schema("id INT, name STRING")
              .options(options(api, "cursor", Seq("a", "b"), "retry.maxAttempts" -> "1"))
              .load()).writeStream
            .format("parquet")
            .option("path", s"$checkpoint/out")
            .option("checkpointLocation", s"$checkpoint/ckpt")
            .trigger(Trigger.AvailableNow())
            .start()
          try { assert(query.awaitTermination(60000)); None }
          catch { case e: Exception => EpochalException.in(e) }
        }
        assert(run().isEmpty)
        api.counts ++= Seq("a" -> 9, "b" -> 9)
        api.before = request => if (request.getUrl.contains("/b")) 500 else 200
        assert(run().exists(_.getMessage.contains("/records/b responded with status 500")))
        api.before = _ => 200
        assert(run().isEmpty)
        checkAnswer(spark.read.parquet(s"$checkpoint/out"), rows("a", 0 until 9) ++ rows("b", 0 until 9))
      }
    }
  }

  test("the schema is inferred from the first list", Slow) {
    using("a" -> 3) { api =>
      val frame =
        spark.read.format("epochal-rest").options(options(api, "offset", Seq("a"), "inferSchema" -> "true")).load()
      assert(frame.columns.toSeq == Seq("id", "name", "_params") && frame.count() == 3)
    }
  }

  test("a checkpoint with a table is refused without one, and the other way round", Slow) {
    using("a" -> 3) { api =>
      withTempDir { checkpoint =>
        def run(directory: String, more: Map[String, String]): Option[EpochalException] =
          try {
            val query = spark.readStream
              .format("epochal-rest")
              .schema("id INT")
              .options(more + ("sourceId" -> "s"))
              .load()
              .writeStream
              .format("noop")
              .option("checkpointLocation", s"$checkpoint/$directory")
              .trigger(Trigger.AvailableNow())
              .start()
            assert(query.awaitTermination(60000))
            None
          } catch { case e: Exception => EpochalException.in(e) }
        val fanned = options(api, "offset", Seq("a"))
        val plain = fanned - "partitionParams" - "metadataColumns" + ("url" -> s"${api.url}/a")
        Seq("one" -> Seq(fanned, plain), "two" -> Seq(plain, fanned)).foreach { case (directory, runs) =>
          assert(run(directory, runs.head).isEmpty)
          assert(run(directory, runs(1)).exists(_.condition.name == "OFFSET_INVALID"))
        }
      }
    }
  }
}
