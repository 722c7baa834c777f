package io.epochal.testkit

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset, ReadLimit}

import io.epochal.core.error.Condition
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** An origin, a checkpoint, and the engine's part towards the source, for one check. */
final private[testkit] class StreamScene(
    val fixture: SourceFixture,
    val checkpoint: Path,
    tells: (Throwable, Condition) => Boolean
) {
  val everything: ReadLimit = ReadLimit.allAvailable()

  private val made = mutable.Buffer.empty[MicroBatchStream]

  def newStream(partitions: Int = 2): MicroBatchStream = remembered(fixture.newStream(checkpoint, partitions))

  /** With a checkpoint of its own. */
  def newStreamOfAnotherSource(): MicroBatchStream =
    remembered(fixture.newStreamOfAnotherSource(checkpoint.resolveSibling("1")))

  /** What a check has failed with says more than what its streams say at their end. */
  def stopStreams(): Unit = made.foreach(stream => Try(stream.stop()))

  private def remembered(stream: MicroBatchStream): MicroBatchStream = {
    made += stream
    stream
  }

  /** The stream, its first offset, and the offset after `rows` rows. */
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

  /** The rows between two offsets, read by a stream that a new driver makes. */
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
    Refusal.of(condition, what, tells)(body)
}

private[testkit] object StreamScene {

  /** Gives checks a fresh fixture and directory each, and takes both away. */
  final class Stage(newFixture: () => SourceFixture, tells: Option[(Throwable, Condition) => Boolean]) {

    def check(promise: Promise)(body: StreamScene => Any): Check = new Check(promise, () => run(promise, body))

    private def run(promise: Promise, body: StreamScene => Any): Unit = {
      val fixture = newFixture()
      val directory = Files.createTempDirectory("epochal-testkit")
      try {
        Exemptions.of(fixture, promise).foreach(reason => throw new NotChecked(reason))
        val told = tells.getOrElse((error: Throwable, condition: Condition) => fixture.tells(error, condition))
        val scene = new StreamScene(fixture, directory.resolve("sources").resolve("0"), told)
        try body(scene): Unit
        finally scene.stopStreams()
      } finally {
        fixture.close()
        Directories.delete(directory)
      }
    }
  }
}
