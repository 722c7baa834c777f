package io.epochal.rest.source.member

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.EpochalException

/** Whole queries over lists that depend on each other. */
final class MemberQuerySuite extends QuerySuite {

  private def options(api: TreeApi, more: (String, String)*): Map[String, String] =
    TreeApi.options(api, "cursor") ++ Seq("numPartitions" -> "2", "paramColumns" -> "owner,repo") ++ more

  private def three(api: TreeApi): Seq[(String, String)] =
    TreeApi.three(api).toSeq :+ ("paramColumns" -> "owner,repo,stars")

  private def filled(api: TreeApi): Unit =
    Seq("x/a" -> 6, "x/bcd" -> 0, "y/a" -> 1, "y/e" -> 5).foreach { case (repo, n) => api.add(repo, n) }

  private def rows(api: TreeApi, repos: String*): Seq[Row] = repos.flatMap { repo =>
    api.ids(repo).map(Row(_, repo.takeWhile(_ != '/'), repo.dropWhile(_ != '/').drop(1)))
  }

  private def run(frame: DataFrame, checkpoint: String): Seq[Row] = {
    @volatile var out = Seq.empty[Row]
    val query = frame.writeStream
      .foreachBatch((batch: DataFrame, _: Long) => out ++= batch.collect())
      .option("checkpointLocation", checkpoint)
      .trigger(Trigger.AvailableNow())
      .start()
    assert(query.awaitTermination(60000), "the query did not end")
    query.exception.foreach(throw _)
    query.recentProgress.foreach(progress =>
      assert(progress.sources.head.description.contains("/items/{owner}/{repo} (")))
    out
  }

  private def sorted(rows: Seq[Row]): Seq[String] = rows.map(_.toString).sorted

  test("a batch read has the records of each list, with the values that selected it as columns", Slow) {
    TreeApi.using { api =>
      filled(api)
      def frame = spark.read.format("epochal-rest").schema("id STRING").options(options(api)).load()
      checkAnswer(frame, rows(api, "x/a", "x/bcd", "y/a", "y/e"))
      api.status = path => if (path == "/items/y/a") 404 else 200
      checkAnswer(frame, rows(api, "x/a", "y/e"))
      api.status = path => if (path.startsWith("/items")) 404 else 200
      val error = intercept[Exception](frame.collect())
      assert(EpochalException.in(error).exists(_.condition.name == "HTTP_STATUS"))
    }
  }

  test("AvailableNow reads every list to its end, in batches of a limit, and continues") {
    TreeApi.using { api =>
      filled(api)
      withTempDir { checkpoint =>
        def frame = spark.readStream
          .format("epochal-rest")
          .schema("id STRING")
          .options(options(api, "maxRowsPerBatch" -> "3"))
          .load()
        assert(sorted(run(frame, checkpoint.getPath)) == sorted(rows(api, "x/a", "y/a", "y/e")))
        assert(run(frame, checkpoint.getPath).isEmpty)
        api.add("x/bcd", 2)
        api.add("z/z", 1)
        assert(sorted(run(frame, checkpoint.getPath)) == sorted(rows(api, "x/bcd", "z/z")))
      }
    }
  }

  test("three levels: a grandchild sees the values of all its ancestors, with the types of the schema") {
    TreeApi.using { api =>
      filled(api)
      withTempDir { checkpoint =>
        def read(frame: DataFrame) = frame.select("id", "owner", "repo", "stars")
        val expected = rows(api, "x/a", "y/a", "y/e").map(row => Row.fromSeq(row.toSeq :+ 1))
        val batch = spark.read
          .format("epochal-rest")
          .schema("id STRING, stars INT")
          .options(options(api, three(api): _*))
          .load()
        checkAnswer(read(batch), expected)
        val stream = spark.readStream
          .format("epochal-rest")
          .schema("id STRING, stars INT")
          .options(options(api, three(api): _*))
          .load()
        assert(sorted(run(read(stream), checkpoint.getPath)) == sorted(expected))
        api.add("new/r", 2)
        api.add("x/bcd", 1)
        val more = rows(api, "new/r").map(row => Row.fromSeq(row.toSeq :+ 1)) :+ Row("x/bcd#0", "x", "bcd", 3)
        assert(sorted(run(read(stream), checkpoint.getPath)) == sorted(more))
      }
    }
  }

  test("the schema is inferred from the first list with records; _params has all values") {
    TreeApi.using { api =>
      Seq("x/a" -> 0, "x/b" -> 2).foreach { case (repo, n) => api.add(repo, n) }
      val frame = spark.read
        .format("epochal-rest")
        .options(options(api, "inferSchema" -> "true", "metadataColumns" -> "_params"))
        .load()
      assert(frame.columns.toSeq == Seq("id", "_params", "owner", "repo"))
      checkAnswer(frame.selectExpr("_params['repo']"), Seq(Row("b"), Row("b")))
    }
  }

  test("partitionParams has such columns too") {
    TreeApi.using { api =>
      filled(api)
      val table = """[{"owner": "x", "repo": "a", "n": 7}]"""
      val frame = spark.read
        .format("epochal-rest")
        .schema("id STRING, n INT")
        .options(
          options(api, "paramColumns" -> "n,repo", "partitionParams" -> table).filterNot(_._1.startsWith("parent.")))
        .load()
      checkAnswer(frame, api.ids("x/a").map(Row(_, 7, "a")))
    }
  }

  test("a checkpoint with parents is refused without them, and the other way round", Slow) {
    TreeApi.using { api =>
      filled(api)
      withTempDir { checkpoint =>
        val with3 = options(api, "sourceId" -> "s")
        val plain = Map(
          "url" -> s"${api.url}/items/x/a",
          "records" -> "/data",
          "sourceId" -> "s",
          "pagination" -> "cursor",
          "nextCursor" -> "/next")
        def attempt(options: Map[String, String], directory: String): Option[EpochalException] =
          try {
            run(
              spark.readStream.format("epochal-rest").schema("id STRING").options(options).load(),
              s"$checkpoint/$directory"): Unit
            None
          } catch { case e: Exception => EpochalException.in(e) }
        Seq("one" -> Seq(with3, plain), "two" -> Seq(plain, with3)).foreach { case (directory, runs) =>
          assert(attempt(runs.head, directory).isEmpty)
          api.add("x/a", 1)
          assert(attempt(runs(1), directory).exists(_.condition.name == "OFFSET_INVALID"))
        }
      }
    }
  }

  test("a time without a date is no TIMESTAMP of paramColumns") {
    TreeApi.using { api =>
      Seq("x/12:30", "x/2026-01-31T12:30:00Z").foreach(api.add(_, 1))
      val frame = spark.read
        .format("epochal-rest")
        .schema("id STRING, repo TIMESTAMP")
        .options(options(api, "paramColumns" -> "repo", "mode" -> "DROPMALFORMED"))
        .load()
      checkAnswer(frame.select("id"), Seq(Row("x/2026-01-31T12:30:00Z#0")))
    }
  }

  test("a value that does not fit its column of paramColumns is a record that does not fit, by the mode") {
    TreeApi.using { api =>
      Seq("x/1" -> 2, "x/b" -> 2, "x/3" -> 1).foreach { case (repo, n) => api.add(repo, n) }
      def of(mode: String) = options(api, "paramColumns" -> "repo", "mode" -> mode)
      def batch(mode: String) = spark.read.format("epochal-rest").schema("id STRING, repo INT").options(of(mode)).load()
      val fitting = Seq(Row("x/1#0", 1), Row("x/1#1", 1), Row("x/3#0", 3))
      def bad(n: Int) = Row(s"x/b#$n", null, s"""{"id":"x/b#$n"}""")
      val all = fitting.map(row => Row.fromSeq(row.toSeq :+ null)) ++ Seq(bad(0), bad(1))
      val columns = Seq("id", "repo", "_corrupt_record")
      checkAnswer(batch("DROPMALFORMED"), fitting)
      assert(batch("DROPMALFORMED").count() == 3)
      checkAnswer(batch("PERMISSIVE").selectExpr(columns: _*), all)
      val error = EpochalException.in(intercept[Exception](batch("FAILFAST").collect())).get
      assert(error.condition.name == "RECORD_INVALID" && error.getMessage.contains("the column 'repo' is INT"), error)
      Seq("DROPMALFORMED" -> fitting, "PERMISSIVE" -> all).foreach { case (mode, expected) =>
        withTempDir { checkpoint =>
          val stream = spark.readStream.format("epochal-rest").schema("id STRING, repo INT").options(of(mode)).load()
          val wanted = columns.filter(stream.columns.contains)
          assert(sorted(run(stream.selectExpr(wanted: _*), checkpoint.getPath)) == sorted(expected))
        }
      }
    }
  }
}
