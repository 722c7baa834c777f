package io.epochal.random

import java.nio.file.Path
import java.time.Instant

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType

import io.epochal.kit.source.{ManualClock, SourceOffset}
import io.epochal.testkit.{SourceChecks, SourceFixture}

/** The source's stream checks, with a row per second of a manual clock. */
final class RandomConformanceSuite extends SourceChecks {

  override def sourceName: String = RandomOptions.Format

  override def newFixture(): SourceFixture = new SourceFixture {
    private val begin = Instant.parse("2026-01-01T00:00:00Z")
    private val clock = new ManualClock(begin)

    override def schema: StructType = RandomProvider.schema

    override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream =
      stream(checkpoint, "numPartitions" -> partitions.toString)

    override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream = stream(checkpoint, "seed" -> "1")

    private def stream(checkpoint: Path, extra: (String, String)): MicroBatchStream = {
      // The rate counts from `begin`, not from the query's first start.
      val _ = RandomStreams.over(new ManualClock(begin), checkpoint, "rowsPerSecond" -> "1", extra).initialOffset()
      RandomStreams.over(clock, checkpoint, "rowsPerSecond" -> "1", extra)
    }

    override def makeAvailable(rows: Int): Unit = clock.advance(rows.toLong)

    override def rowsBefore(offset: Offset): Long = offset match {
      case SourceOffset(position: RandomPosition, _) => position.deliveredRows
      case other                                     => fail(s"not an offset of ours: $other")
    }
  }
}
