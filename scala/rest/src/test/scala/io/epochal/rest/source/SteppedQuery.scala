package io.epochal.rest.source

import java.nio.file.{Files, Path}
import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType

import io.epochal.kit.source.SourceStream
import io.epochal.testkit.MicroBatch

/** One query over an API, run batch by batch as by Spark, without a session: its checkpoint, and the offset logged last.
  * The first column of `schema` is an id.
  */
abstract class SteppedQuery(url: String, schema: StructType, options: Seq[(String, String)]) {
  val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")
  var stream: SourceStream[RestPosition] = start()
  var at: Offset = stream.initialOffset()

  def start(more: (String, String)*): SourceStream[RestPosition] =
    RestStreams.over(url, checkpoint, schema, options ++ more: _*)

  def restart(more: (String, String)*): Unit = {
    stream.stop()
    stream = start(more: _*)
    at = stream.deserializeOffset(at.json)
  }

  def read(end: Offset, from: Offset = at): Seq[Int] =
    MicroBatch.read(stream, schema, from, end).map(_.head.asInstanceOf[Int])

  /** The ids of the next batch. */
  def batch(limit: ReadLimit = ReadLimit.allAvailable()): Seq[Int] =
    MicroBatch.next(stream, at, limit).fold(Seq.empty[Int]) { end =>
      stream.commit(at)
      val ids = read(end)
      at = stream.deserializeOffset(end.json)
      ids
    }

  /** Files of the journal. */
  def segments: Seq[Path] = {
    val directory = checkpoint.resolve("journal")
    if (Files.exists(directory)) Files.list(directory).iterator().asScala.toSeq else Nil
  }

  def metric(name: String): String = stream.metrics(Optional.of(at)).get(name)
}
