package io.epochal.testkit.connector

import java.nio.file.{Files, Path}
import java.util

import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Wrong: keeps the committed position in a file beside the origin, and ignores the offset. */
final class SideFileLines extends LineProvider {
  override def stream(options: CaseInsensitiveStringMap, checkpoint: Path): MicroBatchStream = {
    val path = Path.of(options.get("path"))
    val position = Path.of(s"$path.position")
    new LineStream(path, 2) {
      private def noted: Long = if (Files.exists(position)) Files.readString(position).toLong else 0L

      override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
        slices(math.max(noted, at(start)), at(end))

      override def commit(end: Offset): Unit = {
        val _ = Files.writeString(position, math.max(noted, at(end)).toString)
      }
    }
  }
}

/** Wrong: offsets are wall-clock times, and a batch has the lines that were written between two of them. A line begins with its
  * time.
  */
final class WallClockLines extends LineProvider {
  override def stream(options: CaseInsensitiveStringMap, checkpoint: Path): MicroBatchStream = {
    val path = Path.of(options.get("path"))
    new LineStream(path, 2) {
      private def before(millis: Long): Long =
        LineStream.lines(path).count(_.takeWhile(_ != ' ').toLong < millis).toLong

      override def latestOffset(start: Offset, limit: ReadLimit): Offset =
        LineOffset(source, System.currentTimeMillis())

      override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
        slices(before(at(start)), before(at(end)))
    }
  }
}

/** Wrong only in its fixture, which does not declare that the source has a continuous stream. */
final class ContinuousLines extends LineProvider {
  override def modes: util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.MICRO_BATCH_READ, TableCapability.CONTINUOUS_READ)

  override def stream(options: CaseInsensitiveStringMap, checkpoint: Path): MicroBatchStream =
    new LineStream(Path.of(options.get("path")), 2)
}
