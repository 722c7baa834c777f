package io.epochal.random

import java.nio.file.Files
import java.time.Instant

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.source.{ContinuousSourceStream, InitialOffset, ManualClock, SourceOffset}

/** What a continuous query asks when the number of partitions has changed, without a query. */
final class RandomPartitionsSuite extends AnyFunSuite {
  private val clock = new ManualClock(Instant.parse("2026-01-01T00:00:00Z"))
  private val options = RandomOptions.read(Map("numPartitions" -> "3")).fold(throw _, identity)
  private val begin = options.begin(clock.millis())

  private def newStream() = {
    val checkpoint = new InitialOffset(Files.createTempDirectory("partitions").toString, new Configuration())
    new ContinuousSourceStream(new RandomSource(options, 2, clock), checkpoint, clock)
  }

  private def offset(position: RandomPosition) = SourceOffset(position, options.toJson(position))

  /** Where partitions stand that have delivered so many rows each. */
  private def ends(counts: Long*) = counts.zipWithIndex
    .map { case (count, p) =>
      RandomPartitionOffset(begin, p, counts.size, count)
    }
    .toArray[PartitionOffset]

  test("the partitions of an offset end at one count, and then as many begin as the options say") {
    val stream = newStream()
    val old = stream.planInputPartitions(offset(begin.copy(partitions = Vector(4, 2)))).toSeq
    // Id 6 is delivered: 7 is the last one of a whole turn.
    assert(old.collect { case RandomEndlessPartition(at, _, end) => at.count -> end } == Seq(4L -> 8L, 2L -> 8L))
    assert(!stream.needsReconfiguration())
    stream.commit(stream.mergeOffsets(ends(4, 3)))
    assert(!stream.needsReconfiguration())
    val level = stream.mergeOffsets(ends(4, 4))
    assert(!stream.needsReconfiguration(), "an end that was logged waits for its commit")
    stream.commit(level)
    assert(stream.needsReconfiguration())
    assert(stream.planInputPartitions(level).length == 3)
    assert(!stream.needsReconfiguration())
  }

  test("once the partitions are planned anew, no end is given for an epoch that runs again") {
    val stream = newStream()
    val _ = stream.planInputPartitions(offset(begin.copy(partitions = Vector(4, 4))))
    stream.commit(stream.mergeOffsets(ends(4, 4)))
    assert(stream.needsReconfiguration())
    assertThrows[IllegalStateException](stream.mergeOffsets(ends(4, 4)))
  }

  test("partitions whose number has not changed have no end") {
    val stream = newStream()
    val planned = stream.planInputPartitions(offset(begin.copy(partitions = Vector(4, 2, 2)))).toSeq
    assert(planned.collect { case RandomEndlessPartition(_, _, end) => end } == Seq.fill(3)(Long.MaxValue))
    stream.commit(stream.mergeOffsets(ends(4, 4, 4)))
    assert(!stream.needsReconfiguration())
  }
}
