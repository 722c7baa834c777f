package io.epochal.kit.record

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit

import org.apache.spark.sql.types.StructType
import org.openjdk.jmh.annotations._
import org.openjdk.jmh.infra.Blackhole

/** Records of one page of CSV: 100 records of 150 bytes. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
class CsvBench {

  /** A text in each record. */
  @Param(Array("lorem", "löräm"))
  var word: String = ""

  private val buffer = new Body
  private val format = RecordFormat.Csv(header = true, ',', None)
  private val rows = new RecordColumns(
    RecordReading(StructType.fromDDL("id INT, name STRING, email STRING, body STRING"), "UTC"),
    RecordRules(format))

  @Setup def setUp(): Unit = {
    val records = (0 until 100).map { i =>
      s"""${10000000 + i},name of the comment ${1000 + i},someone.${1000 + i}@example.com,"${s"$word ipsum " * 8}""""
    }
    val page = records.mkString("id,name,email,body\n", "\n", "\n").getBytes(UTF_8)
    val _ = buffer.readFrom(new ByteArrayInputStream(page), Body.MaxBytes)
  }

  @Benchmark def read(hole: Blackhole): Unit = {
    val records = format.open(buffer, "")
    while (records.next()) hole.consume(records.row(rows))
  }

  @Benchmark def pass(hole: Blackhole): Unit = hole.consume(format.count(buffer, ""))
}
