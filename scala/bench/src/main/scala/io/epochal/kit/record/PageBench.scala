package io.epochal.kit.record

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.types.StructType
import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

/** Records of one page from the static server of the REST benchmark: 100 records of 290 bytes. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
class PageBench {

  /** Length of the texts: as in the benchmark, or short. */
  @Param(Array("180", "10"))
  var body: Int = 0

  private val place = "http://127.0.0.1/comments"
  private val buffer = new Body
  private val rows = new RecordColumns(
    RecordReading(StructType.fromDDL("postId INT, id INT, name STRING, email STRING, body STRING"), "UTC"),
    RecordRules(RecordFormat.Json("")))

  @Setup def setUp(): Unit = {
    val records = (0 until 100).map { i =>
      s"""{"postId":${1000 + i},"id":${10000000 + i},"name":"name of the comment ${1000 + i}",""" +
        s""""email":"someone.${1000 + i}@example.com","body":"${"lorem ipsum " * 20 take body}"}"""
    }
    val page = records.mkString("[", ",", "]").getBytes(UTF_8)
    val _ = buffer.readFrom(new ByteArrayInputStream(page), Body.MaxBytes)
  }

  @Benchmark def read(hole: Blackhole): Unit = {
    val records = new JsonRecords(buffer.piece, RecordFormat.Json(""), place)
    while (records.next()) hole.consume(records.row(rows))
  }

  /** The fallback of our reader for input that its scan cannot decide. */
  @Benchmark def jackson(hole: Blackhole): Unit = {
    val records = new TokenRecords(buffer.piece, RecordFormat.Json(""), place)
    while (records.next()) hole.consume(records.row(rows))
  }

  @Benchmark def pass(hole: Blackhole): Unit = {
    val records = new JsonRecords(buffer.piece, RecordFormat.Json(""), place)
    hole.consume(records.skip(Long.MaxValue))
  }
}
