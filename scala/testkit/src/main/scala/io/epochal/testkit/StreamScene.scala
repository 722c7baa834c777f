package io.epochal.testkit

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit}

import io.epochal.core.error.Condition
import io.epochal.testkit.report.Evidence

/** An origin and a checkpoint for one check, with calls to the source as Spark's engine makes them. */
final private[testkit] class StreamScene(fixture: SourceFixture, isRefusal: (Throwable, Condition) => Boolean)
    extends Scene(fixture) {
  val everything: ReadLimit = ReadLimit.allAvailable()

  private val checkpoint = directory.resolve("sources").resolve("0")
  private val streams = mutable.Buffer.empty[MicroBatchStream]

  def newStream(partitions: Int = 2): MicroBatchStream = remembered(fixture.newStream(checkpoint, partitions))

  /** Creates a stream over another origin, with its own checkpoint. */
  def newStreamOfAnotherSource(): MicroBatchStream =
    remembered(fixture.newStreamOfAnotherSource(checkpoint.resolveSibling("1")))

  /** Ignores errors of stopping streams, which would hide why a check failed. */
  override def close(): Unit = {
    streams.foreach(stream => Try(stream.stop()))
    super.close()
  }

  private def remembered(stream: MicroBatchStream): MicroBatchStream = {
    streams += stream
    stream
  }

  /** Creates a stream. Returns it with its first offset and the offset after `rows` rows. */
  def started(rows: Int): (MicroBatchStream, Offset, Offset) = {
    fixture.makeAvailable(rows)
    val stream = newStream()
    val start = stream.initialOffset()
    (stream, start, next(stream, start, everything))
  }

  def next(stream: MicroBatchStream, start: Offset, limit: ReadLimit): Offset =
    MicroBatch
      .next(stream, start, limit)
      .getOrElse(Evidence.broken(s"no batch after ${start.json} under $limit, though there are rows"))

  def read(stream: MicroBatchStream, start: Offset, end: Offset): Seq[Seq[Any]] =
    MicroBatch.read(stream, fixture.schema, start, end)

  /** Rows between two offsets, read from the stream of a new driver. */
  def replay(start: Offset, end: Offset, partitions: Int): Seq[Seq[Any]] = {
    val stream = newStream(partitions)
    read(stream, stream.deserializeOffset(start.json), stream.deserializeOffset(end.json))
  }

  def rowsBefore(stream: MicroBatchStream, offset: Offset): Long =
    fixture.rowsBefore(offset) match {
      case SourceFixture.NotKnown => read(stream, stream.initialOffset(), offset).size.toLong
      case known                  => known
    }

  def refused(condition: Condition, what: String)(body: => Any): Throwable =
    Refusal.of(condition, what, isRefusal)(body)
}
