package io.epochal.rest.source.window

import java.nio.file.{Files, Path}
import java.time.{Duration, Instant}
import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.RecordReading
import io.epochal.kit.source.{ManualClock, SourceStream}
import io.epochal.rest.http.HttpCounters
import io.epochal.rest.source._
import io.epochal.testkit.MicroBatch

/** Queries over an API of time windows of ten minutes from midnight on, without a session. */
trait WindowFixture extends Assertions {

  protected val schema: StructType = StructType.fromDDL("id INT NOT NULL, name STRING")

  protected def minutes(n: Long): Instant = WindowApi.start.plus(Duration.ofMinutes(n))

  final protected class Query(val api: WindowApi, kind: String, options: (String, String)*) {
    val clock = new ManualClock(WindowApi.start)
    val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")
    var stream: SourceStream[RestPosition] = start()
    var at: Offset = stream.initialOffset()

    def start(more: (String, String)*): SourceStream[RestPosition] = {
      val windows = Option.when(!options.exists(_._1 == "bodyFormat"))("records" -> "/data") ++ Seq(
        "pagination" -> "time-window",
        "windowStart" -> s"${WindowApi.start}",
        "windowLength" -> "10m",
        "lag" -> "1m")
      RestStreams.at(clock, api.url, checkpoint, schema, windows.toSeq ++ WindowApi.kinds(kind) ++ options ++ more: _*)
    }

    /** Simulates a kill: the old stream's state is lost, and it has not been stopped. */
    def restart(more: (String, String)*): Unit = {
      stream = start(more: _*)
      at = stream.deserializeOffset(at.json)
    }

    def read(end: Offset, from: Offset = at): Seq[Int] =
      MicroBatch.read(stream, schema, from, end).map(_.head.asInstanceOf[Int])

    def batch(limit: ReadLimit = ReadLimit.allAvailable()): Seq[Int] =
      MicroBatch.next(stream, at, limit).fold(Seq.empty[Int]) { end =>
        stream.commit(at)
        val ids = read(end)
        at = stream.deserializeOffset(end.json)
        ids
      }

    /** Batches until no more arrive. */
    def batches(limit: ReadLimit = ReadLimit.allAvailable()): Seq[Seq[Int]] =
      Iterator.continually(batch(limit)).takeWhile(_.nonEmpty).toVector

    def segments: Seq[Path] = {
      val directory = checkpoint.resolve("journal")
      if (Files.exists(directory)) Files.list(directory).iterator().asScala.filter(_.toString.endsWith(".seg")).toSeq
      else Nil
    }

    def metric(name: String): String = stream.metrics(Optional.of(at)).get(name)

    /** Adds an event at a minute after midnight. */
    def event(id: Int, minute: Long): Unit = api.events :+= Event(id, minutes(minute))

    def nowAt(minute: Long): Unit = clock.set(minutes(minute))
  }

  /** The ids of a batch read up to a moment. */
  protected def batchRead(api: WindowApi, kind: String, until: Instant, more: (String, String)*): Seq[Int] = {
    val options = WindowApi.kinds(kind) ++ more ++ Seq(
      "url" -> api.url,
      "pagination" -> "time-window",
      "records" -> "/data",
      "windowStart" -> s"${WindowApi.start}",
      "windowLength" -> "10m")
    val read = RestOptions.read(options.toMap).fold(throw _, identity)
    val factory = new RestReaderFactory(read.requests, RecordReading(schema, "UTC"), new HttpCounters, None)
    val reader = factory.createReader(ChainPartition(until))
    Iterator.continually(reader).takeWhile(_.next()).map(_.get().getInt(0)).toVector
  }

  protected def query(kind: String, options: (String, String)*)(body: Query => Any): Unit =
    WindowApi.using { api =>
      val _ = body(new Query(api, kind, options: _*))
    }

  protected def failure(body: => Any): EpochalException = intercept[EpochalException] { val _ = body }
}
