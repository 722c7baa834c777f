package io.epochal.testkit.connector

import java.nio.file.{Files, Path}

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Wrong: what was committed is noted in a file beside the origin, and never read again, whatever the offset says. */
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

/** Wrong: the end of a batch is what the clock says, and its rows are those whose time lies between two offsets. A line begins
  * with the time at which it was written.
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
