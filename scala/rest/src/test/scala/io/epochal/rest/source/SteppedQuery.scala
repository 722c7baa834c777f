package io.epochal.rest.source

import java.nio.file.{Files, Path}
import java.time.Clock
import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.kit.source.SourceStream
import io.epochal.testkit.MicroBatch

/** One query over an API, run batch by batch as by Spark, without a session: its checkpoint, and the offset logged last.
  *
  * @param row
  *   a row that the stream delivers, from its columns
  */
abstract class SteppedQuery[R](schema: StructType, options: Map[String, String], clock: Clock)(row: Seq[Any] => R)
    extends Assertions {
  import SteppedQuery._

  val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")
  var stream: SourceStream[RestPosition] = start()
  var at: Offset = stream.initialOffset()

  def start(more: (String, String)*): SourceStream[RestPosition] =
    RestStreams.at(clock, options("url"), checkpoint, schema, (options ++ more).toSeq: _*)

  def restart(more: (String, String)*): Unit = {
    stream.stop()
    stream = start(more: _*)
    at = stream.deserializeOffset(at.json)
  }

  def read(end: Offset, from: Offset = at): Seq[R] = MicroBatch.read(stream, schema, from, end).map(row)

  def next(limit: ReadLimit = ReadLimit.allAvailable()): Option[Offset] = MicroBatch.next(stream, at, limit)

  /** The rows of the next batch. */
  def batch(limit: ReadLimit = ReadLimit.allAvailable()): Seq[R] = next(limit).fold(Seq.empty[R]) { end =>
    stream.commit(at)
    val rows = read(end)
    at = stream.deserializeOffset(end.json)
    rows
  }

  /** Files of the journal. */
  def segments: Seq[Path] = {
    val directory = checkpoint.resolve("journal")
    if (Files.exists(directory)) Files.list(directory).iterator().asScala.toSeq else Nil
  }

  def metric(name: String): String = stream.metrics(Optional.of(at)).get(name)

  /** Delivers a batch that was planned, unless the query is killed before it is logged. Its rows are the same when they are read
    * again.
    */
  def deliver(end: Offset, how: End)(take: Seq[R] => Unit): Unit =
    if (how == KilledBeforeLog) restart()
    else {
      val start = at
      if (how == KilledAfterLog) restart()
      val logged = stream.deserializeOffset(end.json)
      stream.commit(at)
      val rows = read(logged)
      take(rows)
      if (how != Delivered) restart()
      assert(read(logged, stream.deserializeOffset(start.json)) == rows)
      at = stream.deserializeOffset(end.json)
    }
}

/** A query whose rows begin with an id, and that polls at each batch. */
abstract class IdQuery(url: String, schema: StructType, options: Seq[(String, String)])
    extends SteppedQuery[Int](schema, Map("url" -> url, "refreshInterval" -> "0s") ++ options, Clock.systemUTC())(
      _.head.asInstanceOf[Int])

object SteppedQuery {

  /** How a batch ends. */
  sealed trait End
  case object Delivered extends End
  case object KilledBeforeLog extends End
  case object KilledAfterLog extends End
  case object Restarted extends End

  def limit(rows: Long): ReadLimit = if (rows == Long.MaxValue) ReadLimit.allAvailable() else ReadLimit.maxRows(rows)
}
