package io.epochal.rest.source

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.sun.net.httpserver.HttpExchange
import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow
import org.scalatest.time.{Seconds, Span}

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.SourceStream
import io.epochal.rest.http.{Bodies, StubServer}
import io.epochal.support.SlowTests.slowIf
import io.epochal.testkit.MicroBatch

/** Pages of 12 MiB: larger than the buffer in memory. */
final class RestLargePagesSuite extends AnyFunSuite with Eventually {

  private val schema = StructType.fromDDL("id INT NOT NULL, name STRING")
  private val pageSize = 3000
  private val text = "lorem ipsum " * 350

  private def record(i: Long): String = s"""{"id":$i,"name":"$i $text"}"""

  /** The ids between two offsets; checks that their names match. */
  private def read(stream: SourceStream[RestPosition], from: Offset, end: Offset): Seq[Int] =
    MicroBatch.read(stream, schema, stream.deserializeOffset(from.json), stream.deserializeOffset(end.json)).map {
      row =>
        assert(row(1).toString == s"${row.head} $text")
        row.head.asInstanceOf[Int]
    }

  /** Between two polls the driver holds no response. */
  private def next(stream: SourceStream[RestPosition], from: Offset, limit: ReadLimit): Offset = {
    val end = MicroBatch.next(stream, stream.deserializeOffset(from.json), limit).get
    assert(Bodies.openFiles().isEmpty)
    end
  }

  private def over(url: String, options: (String, String)*)(body: (SourceStream[RestPosition], Path) => Unit): Unit = {
    val checkpoint = Files.createTempDirectory("rest").resolve("0")
    val stream = RestStreams.over(url, checkpoint, schema, options: _*)
    try body(stream, checkpoint)
    finally stream.stop()
    assert(Bodies.openFiles().isEmpty)
  }

  Seq(false, true).foreach { journal =>
    test(s"by offset, journal=$journal: batches end within a page, and have each record once", Slow) {
      RecordsApi.using(records = 10000) { api =>
        api.record = i => record(i.toLong)
        val options = Seq("pagination" -> "offset", "pageSize" -> s"$pageSize", "journal" -> s"$journal")
        over(api.url, options: _*) { (stream, checkpoint) =>
          val first = next(stream, stream.initialOffset(), ReadLimit.maxRows(4000))
          val second = next(stream, first, ReadLimit.allAvailable())
          val ids = read(stream, stream.initialOffset(), first) ++ read(stream, first, second)
          assert(ids == (0 until 10000))
          assert(read(stream, first, second) == (4000 until 10000), "replayed")
          if (journal) assert(largestFrame(checkpoint) < (8 << 20))
        }
      }
    }
  }

  ChainApi.kinds.foreach { case (kind, options) =>
    test(s"$kind: pages are journalled in parts, and the last page may grow", slowIf(kind != "cursor"): _*) {
      ChainApi.using(records = 5000) { api =>
        api.pageSize = pageSize
        api.record = record
        over(api.url, options: _*) { (stream, checkpoint) =>
          val first = next(stream, stream.initialOffset(), ReadLimit.maxRows(1000))
          val second = next(stream, first, ReadLimit.allAvailable())
          api.count = 6500
          val third = next(stream, second, ReadLimit.allAvailable())
          assert(read(stream, stream.initialOffset(), first) == (0 until 1000))
          assert(read(stream, first, second) == (1000 until 5000))
          assert(read(stream, second, third) == (5000 until 6500))
          assert(largestFrame(checkpoint) < (8 << 20))
        }
      }
    }
  }

  Seq(false, true).foreach { journal =>
    test(s"NDJSON and CSV, journal=$journal", Slow) {
      Seq(
        ("ndjson", Nil, (i: Int) => s"""{"id":$i,"name":"$i $text"}"""),
        ("csv", Seq("id,name"), (i: Int) => s"""$i,"$i $text"""")).foreach { case (format, header, line) =>
        val bytes = (header ++ (0 until pageSize).map(line)).mkString("", "\n", "\n").getBytes(UTF_8)
        Using.resource(new Body(_ => bytes)) { api =>
          over(api.url, "pagination" -> "none", "bodyFormat" -> format, "journal" -> s"$journal") { (stream, _) =>
            val end = next(stream, stream.initialOffset(), ReadLimit.maxRows(2000))
            val all = next(stream, end, ReadLimit.allAvailable())
            assert(read(stream, stream.initialOffset(), end) ++ read(stream, end, all) == (0 until pageSize))
          }
        }
      }
    }
  }

  Seq(1, 3).foreach { depth =>
    test(s"a task that is abandoned half way holds no response, maxConcurrency=$depth", slowIf(depth == 1): _*) {
      RecordsApi.using(records = 12000) { api =>
        api.record = i => record(i.toLong)
        val options = Seq("pagination" -> "offset", "pageSize" -> s"$pageSize", "numPartitions" -> "1")
        over(api.url, (options :+ ("maxConcurrency" -> s"$depth")): _*) { (stream, _) =>
          val end = next(stream, stream.initialOffset(), ReadLimit.allAvailable())
          val partition = stream.planInputPartitions(stream.initialOffset(), end).head
          val reader = stream.createReaderFactory().createReader(partition)
          assert((0 until 4000).forall(_ => reader.next()))
          reader.close()
          eventually(timeout(Span(20, Seconds)))(assert(Bodies.openFiles().isEmpty))
        }
      }
    }
  }

  test("a response that breaks off past the part in memory is retried; invalid JSON there fails at once", Slow) {
    val whole = (0 until pageSize).map(i => record(i.toLong)).mkString("[", ",", "]").getBytes(UTF_8)
    val broken = new String(whole, UTF_8).patch(whole.length - 1000, "\"", 0).getBytes(UTF_8)
    val requests = new AtomicInteger
    val bodies = (n: Int) => if (n % 2 == 0) whole.take(whole.length - 10) else whole
    Using.resource(new Body(_ => bodies(requests.getAndIncrement()), whole.length)) { api =>
      over(api.url, "pagination" -> "none") { (stream, _) =>
        val end = next(stream, stream.initialOffset(), ReadLimit.allAvailable())
        assert(read(stream, stream.initialOffset(), end) == (0 until pageSize))
        assert(requests.get == 4, "the driver has counted, and a task has read")
      }
    }
    Using.resource(new Body(_ => broken, broken.length)) { api =>
      over(api.url, "pagination" -> "none") { (stream, _) =>
        val error = intercept[EpochalException](next(stream, stream.initialOffset(), ReadLimit.allAvailable()))
        assert(error.condition.name == "HTTP_BODY_INVALID" && error.getMessage.contains("(1 attempt)"))
      }
    }
  }

  /** The largest payload in the journal, by PROTOCOL.md. */
  private def largestFrame(checkpoint: Path): Int = {
    val segments = Using.resource(Files.list(checkpoint.resolve("journal")))(_.iterator().asScala.toVector)
    assert(segments.nonEmpty)
    segments.map { path =>
      val bytes = java.nio.ByteBuffer.wrap(Files.readAllBytes(path))
      val source = bytes.getInt(20)
      var at = 24 + source
      var largest = 0
      var frames = 0
      while (bytes.getInt(at) > 100) { // An index begins with the number of frames.
        largest = math.max(largest, bytes.getInt(at))
        at += 12 + bytes.getInt(at)
        frames += 1
      }
      assert(bytes.getInt(at) == frames)
      largest
    }.max
  }

  /** Serves one body; announces `length` bytes, and breaks off if it has fewer. */
  final private class Body(body: Unit => Array[Byte], length: Int = -1) extends StubServer("/records") {
    override protected def serve(exchange: HttpExchange): Unit = {
      val bytes = body(())
      exchange.sendResponseHeaders(200, if (length < 0) bytes.length.toLong else math.max(length, bytes.length).toLong)
      exchange.getResponseBody.write(bytes)
    }
  }
}
