package io.epochal.random

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.catalyst.InternalRow
import org.openjdk.jmh.annotations._

/** One row of the random source: time, and with `-prof gc` allocations, which must be 0. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
class RandomRowBench {

  @Param(Array("5", "100"))
  var maxLength: Int = 0

  private var row: RandomRow = _
  private var id = 0L

  @Setup def setUp(): Unit = {
    val options = RandomOptions.read(Map("maxLength" -> maxLength.toString)).fold(throw _, identity)
    row = new RandomRow(options, options.begin(0))
  }

  @Benchmark def of(): InternalRow = {
    id += 1
    row.of(id)
  }
}
