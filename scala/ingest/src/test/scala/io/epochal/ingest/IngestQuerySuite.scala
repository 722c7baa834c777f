package io.epochal.ingest

import java.io.File
import java.net.{InetAddress, ServerSocket}
import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, Row}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.ingest.tcp.TcpClient
import io.epochal.support.{Collected, CollectedQueries, Ports}

/** Queries, and clients that write to them. */
final class IngestQuerySuite extends CollectedQueries {

  private def ingest(options: (String, String)*): DataFrame = spark.readStream
    .format("epochal-ingest")
    .options(Map("port" -> "0", "ack" -> "true", "numPartitions" -> "1") ++ options)
    .load()

  private def table(name: String): Seq[Row] = Collected.of(name)

  private def address(query: StreamingQuery): Int = {
    until(query)(assert(query.lastProgress != null))
    query.lastProgress.sources.head.metrics.get("port").toInt
  }

  private def send(port: Int, lines: String*): Unit = Using.resource(new TcpClient(port)) { client =>
    client.send(lines.mkString("", "\n", "\n"))
    client.await(lines.size)
  }

  test("acknowledged lines become rows, and a restarted query resumes") {
    withTempDir { dir =>
      val first = start(ingest(), "ingest_first", dir.toString)
      stopped(first) {
        send(address(first), "a", "b")
        until(first)(assert(table("ingest_first").map(_.getString(0)) == Seq("a", "b")))
        def metrics = first.lastProgress.sources.head.metrics.asScala
        until(first)(assert(metrics("rowsBehind") == "0" && metrics("acknowledged") == "2"))
        assert(metrics("address") == "127.0.0.1" && metrics("refusedFull") == "0")
        val row = table("ingest_first").head
        assert(row.getAs[String]("remote").startsWith("127.0.0.1:") && row.getAs[String]("stream") == "")
        assert(row.isNullAt(row.fieldIndex("headers")) && row.getTimestamp(1).getTime > 1600000000000L)
      }
      val second = start(ingest(), "ingest_second", dir.toString)
      stopped(second) {
        send(address(second), "c")
        until(second)(assert(table("ingest_second").map(_.getString(0)) == Seq("c")))
      }
    }
  }

  test("AvailableNow delivers the journalled rows, within limits of rows and bytes, and ends") {
    withTempDir { dir =>
      val first = start(ingest("maxRowsPerBatch" -> "1"), "ingest_filled", dir.toString)
      stopped(first) {
        send(address(first), (1 to 50).map(n => s"line $n"): _*)
        // A stop while Spark logs its first batch leaves a checkpoint that cannot be restarted.
        until(first)(assert(table("ingest_filled").nonEmpty))
      }
      val delivered = table("ingest_filled").size
      Seq("maxRowsPerBatch" -> "7", "maxBytesPerBatch" -> "90").foreach { limit =>
        withTempDir { copy =>
          FileUtils.copyDirectory(dir, copy)
          val name = s"ingest_drained_${limit._1}"
          val drained = start(ingest(limit), name, copy.toString, Trigger.AvailableNow())
          stopped(drained) {
            drained.awaitTermination()
            val batches = drained.recentProgress.map(_.numInputRows).filter(_ > 0)
            // The first batch may replay one of one row.
            assert(batches.drop(1).forall(_ <= 16) && batches.length > 3, batches.toSeq)
            assert(
              table(name).map(_.getString(0)).takeRight(50 - delivered) == (delivered + 1 to 50).map(n => s"line $n"))
          }
        }
      }
    }
  }

  test("AvailableNow on a fresh checkpoint ends, and so does the next run") {
    withTempDir { dir =>
      (1 to 2).foreach { n =>
        val query = start(ingest(), s"ingest_fresh_$n", dir.toString, Trigger.AvailableNow())
        stopped(query) {
          assert(query.awaitTermination(300000))
          query.exception.foreach(throw _)
        }
      }
    }
  }

  test("with the journal behind Spark's log no client is acknowledged; with failOnDataLoss=false its line arrives") {
    withTempDir { dir =>
      val port = Ports.free().toString
      val first = start(ingest("port" -> port), "ingest_behind", dir.toString)
      stopped(first) {
        send(address(first), "a", "b", "c")
        until(first)(assert(table("ingest_behind").size == 3))
      }
      val segments = new java.io.File(dir, "sources/0/ingest").listFiles.filter(_.getName.endsWith(".ack"))
      assert(segments.nonEmpty && segments.forall(_.delete()))

      def connected(query: StreamingQuery): Option[TcpClient] = Iterator
        .continually(scala.util.Try(new TcpClient(port.toInt)).toOption)
        .find(_.nonEmpty || !query.isActive)
        .flatten

      val second = start(ingest("port" -> port), "ingest_refused", dir.toString)
      stopped(second) {
        connected(second).foreach(Using.resource(_) { client =>
          val reply = scala.util.Try { client.send("z\n"); client.line() }.toOption.flatMap(Option(_))
          assert(!reply.exists(_.startsWith("OK")), reply)
        })
        intercept[Exception](second.awaitTermination()): Unit
        assert(EpochalException.in(second.exception.get).exists(_.condition.name == "DATA_LOSS"))
      }

      val third = start(ingest("port" -> port, "failOnDataLoss" -> "false"), "ingest_skipped", dir.toString)
      stopped(third) {
        connected(third).foreach(Using.resource(_) { client =>
          client.send("z\n")
          client.await(1)
        })
        until(third)(assert(table("ingest_skipped").map(_.getString(0)) == Seq("z")))
      }
    }
  }

  test("a start that fails at another source has not listened, and the next one does") {
    withTempDir { dir =>
      val port = Ports.free()
      val seconds = new java.io.File(dir, "sources/1/0").toPath
      Files.createDirectories(seconds.getParent): Unit
      Files.writeString(seconds, "damaged"): Unit
      def run(name: String, trigger: Trigger) = {
        val rate = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING)").where("false")
        start(ingest("port" -> port.toString).select("value").union(rate), name, dir.toString, trigger)
      }
      Seq(Trigger.ProcessingTime(0), Trigger.AvailableNow()).foreach { trigger =>
        val failed = run("ingest_failed", trigger)
        intercept[Exception](failed.awaitTermination()): Unit
        Using.resource(new ServerSocket(port, 1, java.net.InetAddress.getByName("127.0.0.1")))(_ => ())
      }
      Files.delete(seconds)
      val query = run("ingest_corrected", Trigger.ProcessingTime(0))
      stopped(query) {
        until(query)(send(port, "a"))
        until(query)(assert(table("ingest_corrected").map(_.getString(0)) == Seq("a")))
      }
    }
  }

  test("a continuous query that is started again in the same JVM replaces its first run, which does not fail") {
    withTempDir { dir =>
      val port = Ports.free()
      def run(name: String) = start(ingest("port" -> port.toString), name, dir.toString, Trigger.Continuous(200))
      val first = run("ingest_replaced")
      until(first)(send(port, "a"))
      until(first)(assert(table("ingest_replaced").map(_.getString(0)) == Seq("a")))
      val second = run("ingest_replacing")
      stopped(second) {
        assert(!first.isActive && first.exception.isEmpty)
        until(second)(send(port, "b"))
        until(second)(assert(table("ingest_replacing").map(_.getString(0)).contains("b")))
      }
    }
  }

  test("JSON becomes the schema's columns; malformed records are kept, with their origin") {
    withTempDir { dir =>
      val rows = spark.readStream
        .format("epochal-ingest")
        .schema("id INT, name STRING")
        .options(
          Map(
            "port" -> "0",
            "ack" -> "true",
            "numPartitions" -> "1",
            "format" -> "json",
            "rescuedDataColumn" -> "more"))
        .load()
      assert(
        rows.columns.toSeq == Seq("id", "name", "_corrupt_record", "more", "receivedAt", "remote", "stream", "headers"))
      val query = start(rows.select("id", "name", "_corrupt_record", "more", "stream"), "ingest_json", dir.toString)
      stopped(query) {
        val lines = Seq("""{"id":1,"name":"ä"}""", "", """{"id":"x","name":"b"}""", """{"id":3,"z":[1]}""", "no json")
        send(address(query), lines: _*)
        until(query)(assert(table("ingest_json").size == 4))
        val found = table("ingest_json").map(row => row.toSeq.take(4).map(value => Option(value).fold("-")(_.toString)))
        assert(
          found == Seq(
            Seq("1", "ä", "-", "-"),
            Seq("-", "b", """{"id":"x","name":"b"}""", "-"),
            Seq("3", "-", "-", """{"z":[1]}"""),
            Seq("-", "-", "no json", "-")))
      }
    }
  }

  test("CSV becomes the schema's columns") {
    withTempDir { dir =>
      val rows = ingest("format" -> "csv", "schema" -> "id INT, name STRING, day DATE", "sep" -> ";")
      val query =
        start(rows.selectExpr("id", "name", "CAST(day AS STRING)", "_corrupt_record"), "ingest_csv", dir.toString)
      stopped(query) {
        send(address(query), "1;a;2026-01-02", "2;\"b;c\";", "x;d;2026-01-03")
        until(query)(assert(table("ingest_csv").size == 3))
        val found = table("ingest_csv").map(_.toSeq.map(value => Option(value).fold("-")(_.toString)))
        assert(
          found == Seq(
            Seq("1", "a", "2026-01-02", "-"),
            Seq("2", "b;c", "-", "-"),
            Seq("-", "d", "2026-01-03", "x;d;2026-01-03")))
      }
    }
  }

  test("lines are read from a server, with a reconnect when it closes the connection") {
    Using.resource(new ServerSocket(0)) { server =>
      withTempDir { dir =>
        val rows = spark.readStream
          .format("epochal-ingest")
          .options(
            Map("mode" -> "connect", "numPartitions" -> "1", "port" -> server.getLocalPort.toString, "token" -> "t"))
          .load()
        val query = start(rows, "ingest_connect", dir.toString)
        stopped(query) {
          Seq("a\nb", "c\n").foreach { text =>
            Using.resource(server.accept()) { socket =>
              val greeting = new Array[Byte]("TOKEN t\n".length)
              socket.getInputStream.readNBytes(greeting, 0, greeting.length): Unit
              assert(new String(greeting) == "TOKEN t\n")
              socket.getOutputStream.write(text.getBytes)
            }
          }
          until(query)(assert(table("ingest_connect").map(_.getString(0)) == Seq("a", "b", "c")))
        }
      }
    }
  }

  test("a port in use fails the query with PORT_UNAVAILABLE, and a batch read is refused") {
    Using.resource(new ServerSocket(0, 1, java.net.InetAddress.getLoopbackAddress)) { taken =>
      withTempDir { dir =>
        val query = start(ingest("port" -> taken.getLocalPort.toString), "ingest_taken", dir.toString)
        intercept[Exception](query.awaitTermination()): Unit
        assert(EpochalException.in(query.exception.get).exists(_.condition.name == "PORT_UNAVAILABLE"))
      }
    }
    val error = intercept[EpochalException](spark.read.format("epochal-ingest").option("port", "0").load().collect())
    assert(error.condition.name == "MODE_UNSUPPORTED" && error.getMessage.contains("readStream"))
  }

  test("a checkpoint of this release stays readable") {
    val json = """{"v":1,"format":"epochal-ingest","source":"clients","row":42}"""
    val options = IngestOptions.read(Map("port" -> "0")).fold(throw _, identity)
    assert(IngestOffset.fromJson(options.source, json) == Right(IngestPosition(42)))
    assert(IngestOffset.toJson(options.source, IngestPosition(42)) == json)
  }

  test(
    "a start that failed, or ended without a record, binds the checkpoint to nothing; an acknowledged record binds it") {
    def connect(port: Int) =
      spark.readStream.format("epochal-ingest").options(Map("mode" -> "connect", "port" -> port.toString)).load()
    def failure(frame: DataFrame, checkpoint: String): EpochalException = {
      val query = start(frame, "ingest_bound", checkpoint)
      EpochalException.in(intercept[Exception](stopped(query)(query.awaitTermination(60000)))).get
    }
    withTempDir { dir =>
      Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress)) { taken =>
        val one = ingest("sourceId" -> "one", "port" -> taken.getLocalPort.toString)
        assert(failure(one, dir.toString).condition == Conditions.PortUnavailable)
      }
      val nobody = start(connect(Ports.free()), "ingest_nobody", dir.toString)
      stopped(nobody)(until(nobody)(assert(nobody.lastProgress != null)))
      val two = start(ingest("sourceId" -> "two"), "ingest_two", dir.toString)
      stopped(two) {
        send(address(two), "a")
        until(two)(assert(table("ingest_two").map(_.getString(0)) == Seq("a")))
      }
      // As if the query had been killed before it logged the record.
      Seq("offsets", "commits").foreach(one => FileUtils.deleteDirectory(new File(dir, one)))
      val error = failure(ingest("sourceId" -> "three"), dir.toString)
      assert(
        error.condition == Conditions.SourceChanged && error.getMessage.contains("belong to the source 'two'"),
        error)
      val again = start(ingest("sourceId" -> "two"), "ingest_again", dir.toString)
      stopped(again)(until(again)(assert(table("ingest_again").map(_.getString(0)) == Seq("a"))))
    }
  }
}
