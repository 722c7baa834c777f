package io.epochal.rest.source

import java.io.File
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.tagobjects.Slow

import io.epochal.support.SlowTests.slowIf
import io.epochal.testkit.MicroBatch

/** Columns for the origin of a row, with followed and with journalled pages. */
final class RestOriginSuite extends QuerySuite {
  private val columns = "metadataColumns" -> "_url,_status,_fetchedAt,_headers"
  private val secret = Seq("params.key" -> "s3cret", "headers.X-Api-Key" -> "s3cret2")

  private def stream(url: String, options: (String, String)*): DataFrame =
    spark.readStream
      .format("epochal-rest")
      .schema("id INT")
      .options(Map("url" -> url, columns) ++ secret ++ options)
      .load()

  /** All rows of a query over `frame`, by the last delivery of each batch, ordered by id. */
  private def run(frame: DataFrame, checkpoint: File): Seq[Row] = {
    @volatile var rows = Seq.empty[Row]
    val query = frame.writeStream
      .option("checkpointLocation", checkpoint.getPath)
      .trigger(Trigger.AvailableNow())
      .foreachBatch((batch: DataFrame, _: Long) => rows = batch.orderBy("id").collect().toSeq)
      .start()
    assert(query.awaitTermination(60000))
    rows
  }

  private def files(directory: Path): Seq[Path] =
    Using.resource(Files.walk(directory))(_.iterator().asScala.filter(Files.isRegularFile(_)).toVector)

  private def check(rows: Seq[Row], urls: Seq[String], begin: Long): Unit = {
    assert(rows.map(_.getInt(0)) == (0 until 10))
    assert(rows.map(_.getString(1)).distinct == urls)
    assert(rows.forall(_.getInt(2) == 200))
    assert(rows.forall(row => (begin to System.currentTimeMillis()).contains(row.getTimestamp(3).getTime)))
    assert(rows.forall(_.getMap[String, String](4).keySet.exists(name => name == "content-length")))
  }

  private val pages: Map[String, ChainApi => Seq[String]] = Map(
    "cursor" -> (api => Seq(api.url, s"${api.url}?cursor=c4", s"${api.url}?cursor=c8")),
    "cursor in headers" -> (api => Seq(api.url)),
    "keyset" -> (api => Seq(api.url, s"${api.url}?cursor=3", s"${api.url}?cursor=7")),
    "link" -> (api => Seq(api.url, s"${api.url}?cursor=c4", s"${api.url}?cursor=c8")),
    "next-url" -> (api => Seq(api.url, s"${api.url}?cursor=c4", s"${api.url}?cursor=c8"))
  )

  pages.foreach { case (kind, urls) =>
    test(
      s"$kind: each row has its first response's origin, in a replay too, and no secret",
      slowIf(kind != "cursor"): _*) {
      ChainApi.using(records = 10) { api =>
        withTempDir { checkpoint =>
          val begin = System.currentTimeMillis()
          val frame = stream(api.url, ChainApi.kinds(kind) :+ ("maxRowsPerBatch" -> "100"): _*)
          val rows = run(frame, checkpoint)
          check(rows, urls(api), begin)
          Seq("0", ".0.crc").foreach(name => Files.deleteIfExists(checkpoint.toPath.resolve("commits").resolve(name)))
          assert(run(frame, checkpoint) == rows, "replayed")
          files(checkpoint.toPath).foreach { file =>
            assert(!new String(Files.readAllBytes(file), ISO_8859_1).contains("s3cret"), file)
          }
          val batch =
            spark.read.format("epochal-rest").schema("id INT").options(Map("url" -> api.url, columns) ++ secret)
          check(batch.options(ChainApi.kinds(kind).toMap).load().orderBy("id").collect().toSeq, urls(api), begin)
        }
      }
    }
  }

  test("journal=true: the same for counted pages", Slow) {
    RecordsApi.using(records = 10) { api =>
      withTempDir { checkpoint =>
        val begin = System.currentTimeMillis()
        val frame = stream(api.url, "pagination" -> "page", "pageSize" -> "4", "journal" -> "true")
        val rows = run(frame, checkpoint)
        check(rows, (1 to 3).map(n => s"${api.url}?page=$n&per_page=4"), begin)
        Seq("0", ".0.crc").foreach(name => Files.deleteIfExists(checkpoint.toPath.resolve("commits").resolve(name)))
        assert(run(frame, checkpoint) == rows, "replayed")
      }
    }
  }

  test("rows that were journalled before the columns were added have NULL there") {
    ChainApi.using(records = 6) { api =>
      val checkpoint = Files.createTempDirectory("rest").resolve("0")
      val schema = StructType.fromDDL("id INT, _status INT, _url STRING, _headers MAP<STRING, STRING>")
      def start(more: (String, String)*) =
        RestStreams.over(api.url, checkpoint, schema, ChainApi.kinds("link") ++ more: _*)
      val first = start()
      val end = MicroBatch.next(first, first.initialOffset(), first.getDefaultReadLimit).get
      first.stop()
      api.count = 8
      val second = start("metadataColumns" -> "_status,_url,_headers")
      val from = second.deserializeOffset(end.json)
      val more = MicroBatch.next(second, from, second.getDefaultReadLimit).get
      val rows =
        MicroBatch.read(second, schema, second.initialOffset(), from) ++ MicroBatch.read(second, schema, from, more)
      assert(rows.map(_.take(2)) == (0 until 6).map(Seq[Any](_, null)) ++ Seq(6, 7).map(Seq[Any](_, 200)))
      assert(rows.count(_.exists(_ == null)) == 6)
      second.stop()
    }
  }
}
