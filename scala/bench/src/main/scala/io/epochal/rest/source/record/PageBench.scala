package io.epochal.rest.source.record

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.types.StructType
import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

import io.epochal.kit.engine.JsonRows
import io.epochal.rest.http.request.{BodyBuffer, Endpoint}

/** The records of one page, as the static server of the REST benchmark gives it: 100 of 290 bytes. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
class PageBench {

  /** Lengths of its texts: as there, or short. */
  @Param(Array("180", "10"))
  var body: Int = 0

  private val endpoint = Endpoint.of("http://127.0.0.1/comments", Nil, Nil).fold(sys.error, identity)
  private val buffer = new BodyBuffer
  private val rows =
    new JsonRows(StructType.fromDDL("postId INT, id INT, name STRING, email STRING, body STRING"), "UTC")

  @Setup def setUp(): Unit = {
    val records = (0 until 100).map { i =>
      s"""{"postId":${1000 + i},"id":${10000000 + i},"name":"name of the comment ${1000 + i}",""" +
        s""""email":"someone.${1000 + i}@example.com","body":"${"lorem ipsum " * 20 take body}"}"""
    }
    val page = records.mkString("[", ",", "]").getBytes(UTF_8)
    val _ = buffer.readFrom(new ByteArrayInputStream(page), BodyBuffer.MaxBytes)
  }

  @Benchmark def read(hole: Blackhole): Unit = {
    val records = new RecordCursor(Utf8Body.of(buffer), "", endpoint)
    while (records.next()) hole.consume(records.row(rows))
  }

  @Benchmark def pass(hole: Blackhole): Unit = {
    val records = new RecordCursor(Utf8Body.of(buffer), "", endpoint)
    hole.consume(records.skip(Long.MaxValue))
  }
}
