package io.epochal.random

import java.nio.file.Files
import java.time.Instant

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.PartitionOffset
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.source.{ContinuousSourceStream, InitialOffset, ManualClock, SourceOffset}

/** The calls of a continuous query after a change of the number of partitions, without a query. */
final class RandomPartitionsSuite extends AnyFunSuite {
  private val clock = new ManualClock(Instant.parse("2026-01-01T00:00:00Z"))
  private val options = RandomOptions.read(Map("numPartitions" -> "3")).fold(throw _, identity)
  private val begin = options.begin(clock.millis())

  private def newStream() = {
    val checkpoint = new InitialOffset(Files.createTempDirectory("partitions").toString, new Configuration())
    new ContinuousSourceStream(new RandomSource(options, 2, clock), checkpoint, clock)
  }

  private def offset(position: RandomPosition) = SourceOffset(position, options.toJson(position))

  /** Offsets of partitions with these row counts. */
  private def ends(counts: Long*) = counts.zipWithIndex
    .map { case (count, p) =>
      RandomPartitionOffset(begin, p, counts.size, count)
    }
    .toArray[PartitionOffset]

  test("the old partitions end at the same level, then the new number starts") {
    val stream = newStream()
    val old = stream.planInputPartitions(offset(begin.copy(partitions = Vector(4, 2)))).toSeq
    // Id 6 is delivered, and 7 completes the round of all partitions.
    assert(old.collect { case RandomEndlessPartition(at, end) => at.count -> end } == Seq(4L -> 8L, 2L -> 8L))
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

  test("after the partitions are replanned, a replayed epoch has no end") {
    val stream = newStream()
    val _ = stream.planInputPartitions(offset(begin.copy(partitions = Vector(4, 4))))
    stream.commit(stream.mergeOffsets(ends(4, 4)))
    assert(stream.needsReconfiguration())
    assertThrows[IllegalStateException](stream.mergeOffsets(ends(4, 4)))
  }

  test("partitions whose number has not changed have no end") {
    val stream = newStream()
    val planned = stream.planInputPartitions(offset(begin.copy(partitions = Vector(4, 2, 2)))).toSeq
    assert(planned.collect { case RandomEndlessPartition(_, end) => end } == Seq.fill(3)(Long.MaxValue))
    stream.commit(stream.mergeOffsets(ends(4, 4, 4)))
    assert(!stream.needsReconfiguration())
  }
}
