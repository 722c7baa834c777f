package io.epochal.spark.source.rest

import java.nio.file.{Files, Path}
import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException
import io.epochal.testkit.MicroBatch

/** Queries over an API whose pages name the next one, as Spark would run them, without a session. */
trait ChainFixture extends Assertions {

  protected val schema = StructType.fromDDL("id INT NOT NULL, name STRING")

  /** One query over an API: its checkpoint, and the offsets that Spark has logged. */
  final protected class Query(val api: ChainApi, options: (String, String)*) {
    val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")
    var stream: RestStream = start()
    var at: Offset = stream.initialOffset()

    def start(more: (String, String)*): RestStream = RestStreams.over(api.url, checkpoint, schema, options ++ more: _*)

    def restart(more: (String, String)*): Unit = {
      stream.stop()
      stream = start(more: _*)
      at = stream.deserializeOffset(at.json)
    }

    def read(end: Offset, from: Offset = at): Seq[Int] =
      MicroBatch.read(stream, schema, from, end).map(_.head.asInstanceOf[Int])

    /** The ids of the next batch, as Spark would run it. */
    def batch(limit: ReadLimit = ReadLimit.allAvailable()): Seq[Int] =
      MicroBatch.next(stream, at, limit).fold(Seq.empty[Int]) { end =>
        stream.commit(at)
        val ids = read(end)
        at = stream.deserializeOffset(end.json)
        ids
      }

    def segments: Seq[Path] = {
      val directory = checkpoint.resolve("journal")
      if (Files.exists(directory)) Files.list(directory).iterator().asScala.toSeq else Nil
    }

    def metric(name: String): String = stream.metrics(Optional.of(at)).get(name)
  }

  protected def query(records: Int, kind: String, more: (String, String)*)(body: Query => Any): Unit =
    ChainApi.using(records) { api =>
      val _ = body(new Query(api, ChainApi.kinds(kind) ++ more: _*))
    }

  protected def failure(body: => Any): EpochalException = {
    val error = intercept[EpochalException] { val _ = body }
    assert(!error.getMessage.contains("hunter2"))
    error
  }
}
