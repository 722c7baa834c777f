package io.epochal.ingest

import java.net.Socket
import java.nio.charset.StandardCharsets.ISO_8859_1

import scala.util.Using

import org.apache.logging.log4j.Level
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.core.error.EpochalException
import io.epochal.support.{Collected, Collecting, LoggedLines}

/** Records that do not fit what the query expects. */
final class IngestRecordsSuite extends QuerySuite {

  private def querying(name: String, columns: Seq[String], options: (String, String)*)(
      body: (StreamingQuery, Int) => Unit): Unit =
    withTempDir { dir =>
      val rows =
        spark.readStream.format("epochal-ingest").options(Map("port" -> "0", "numPartitions" -> "1") ++ options).load()
      val query = rows
        .selectExpr(columns: _*)
        .writeStream
        .foreach(new Collecting(name))
        .queryName(name)
        .option("checkpointLocation", dir.getPath)
        .start()
      try {
        eventually(timeout(Span(1, Minutes)), interval(Span(20, Millis)))(assert(query.lastProgress != null))
        body(query, query.lastProgress.sources.head.metrics.get("port").toInt)
      } finally query.stop()
    }

  private def send(port: Int, text: String): Unit =
    Using.resource(new Socket("127.0.0.1", port))(_.getOutputStream.write(text.getBytes(ISO_8859_1)))

  private def rows(name: String, count: Int): Seq[Seq[String]] = {
    eventually(timeout(Span(1, Minutes)), interval(Span(20, Millis)))(assert(Collected.of(name).size == count))
    Collected.of(name).map(_.toSeq.map(String.valueOf(_)))
  }

  test("lines of CSV and JSON that are not UTF-8 do not fit, and are kept as valid UTF-8") {
    Seq("csv" -> Seq("1,Zoë", "2,Zoe"), "json" -> Seq("{\"id\":1,\"name\":\"Zoë\"}", "{\"id\":2,\"name\":\"Zoe\"}"))
      .foreach { case (format, lines) =>
        val name = s"latin_$format"
        querying(name, Seq("name", "_corrupt_record"), "format" -> format, "schema" -> "id INT, name STRING") {
          (_, port) =>
            send(port, lines.mkString("", "\n", "\n"))
            assert(rows(name, 2) == Seq(Seq("null", lines.head.replace('ë', '\ufffd')), Seq("Zoe", "null")), format)
        }
      }
  }

  test("a column that no record has is logged once; with requireColumns=true it fails the query") {
    val schema = Seq("format" -> "json", "schema" -> "id INT, nmae STRING")
    val logged = LoggedLines
      .of(Level.WARN) {
        querying("missing", Seq("id", "nmae"), schema: _*) { (_, port) =>
          (1 to 3).foreach { batch =>
            send(port, s"""{"id":$batch,"name":"x"}\n""")
            assert(rows("missing", batch).size == batch)
          }
        }
      }
      .filter(_.contains("COLUMNS_MISSING"))
    assert(logged.size == 1 && logged.head.contains("nmae; the first record has id, name"), logged)
    querying("required", Seq("id", "nmae"), schema :+ ("requireColumns" -> "true"): _*) { (query, port) =>
      send(port, "{\"id\":1,\"name\":\"x\"}\n")
      val error = intercept[Exception](query.awaitTermination(60000))
      assert(EpochalException.in(error).exists(_.condition.name == "COLUMNS_MISSING"))
    }
    withTempDir { dir =>
      val frame =
        spark.readStream
          .format("epochal-ingest")
          .options(schema.toMap ++ Map("port" -> "0", "requireColumns" -> "true"))
          .load()
      val error = intercept[Exception] {
        frame.writeStream
          .format("noop")
          .option("checkpointLocation", dir.getPath)
          .trigger(Trigger.Continuous(1000))
          .start()
          .awaitTermination(60000)
      }
      val refusal = EpochalException.in(error).getOrElse(fail(error))
      assert(refusal.condition.name == "TRIGGER_UNSUPPORTED" && refusal.getMessage.contains("requireColumns"))
    }
  }
}
