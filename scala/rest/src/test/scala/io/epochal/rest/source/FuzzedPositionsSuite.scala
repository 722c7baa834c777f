package io.epochal.rest.source

import java.nio.file.{Files, Path}
import java.time.Clock

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.source.SourceStream
import io.epochal.random.RandomStreams
import io.epochal.support.Fuzz
import io.epochal.support.Fuzz.{changed, one}
import io.epochal.testkit.MicroBatch

/** Offsets and journals with a few changed bytes: they give the original rows, or a named error. */
final class FuzzedPositionsSuite extends AnyFunSuite with Fuzz with BeforeAndAfterAll {
  import FuzzedPositionsSuite._

  private val api = new ChainApi
  private val counted = new RecordsApi
  private val scratch = Files.createTempDirectory("fuzz")

  override def afterAll(): Unit = {
    Seq(api, counted).foreach(_.close())
    FileUtils.deleteDirectory(scratch.toFile)
  }

  private val schema = StructType.fromDDL("id INT NOT NULL, name STRING")
  private val words =
    Seq("\"", "{", "}", "[", "]", ":", ",", "null", "-1", "9e99999999", "9223372036854775807", "9223372036854775808") ++
      Seq(
        "1e400",
        "\\u0000",
        "\\ud800",
        "\u0000",
        "\ufeff",
        "[" * 3000,
        "{\"a\":" * 3000,
        "\"" + "a" * 60000 + "\"",
        "true") ++
      Seq(
        "\"v\":",
        "\"records\":",
        "\"segments\":",
        "\"../../../etc/passwd\"",
        "\"name\":\"/etc/passwd\"",
        "\"members\":[")

  private def chained(checkpoint: Path): SourceStream[RestPosition] =
    RestStreams.over(api.url, checkpoint, schema, ChainApi.kinds("cursor") ++ Seq("retry.maxAttempts" -> "1"): _*)

  private def plain(checkpoint: Path): SourceStream[RestPosition] = RestStreams.over(
    counted.url,
    checkpoint,
    schema,
    Seq("pagination" -> "offset", "pageSize" -> "10", "retry.maxAttempts" -> "1"): _*)

  private def random(checkpoint: Path): MicroBatchStream =
    RandomStreams.over(Clock.systemUTC(), checkpoint, "maxRows" -> "1000", "rowsPerBatch" -> "10")

  private lazy val written: Written = {
    api.count = 40
    val checkpoint = scratch.resolve("written")
    val stream = chained(checkpoint)
    val start = stream.initialOffset()
    val end = MicroBatch.next(stream, start, ReadLimit.maxRows(20)).get
    val rows = MicroBatch.read(stream, schema, start, end)
    assert(rows.size == 20)
    Written(checkpoint, end.json, rows)
  }

  private def copy(): Path = {
    val to = Files.createTempDirectory(scratch, "round")
    FileUtils.copyDirectory(written.checkpoint.toFile, to.toFile)
    to
  }

  /** Runs `body` with a stream at a disposable checkpoint. */
  private def on[S <: MicroBatchStream](checkpoint: Path, open: Path => S)(body: S => Any): Unit =
    try {
      val stream = open(checkpoint)
      try { val _ = body(stream) }
      finally stream.stop() // It may still be reading ahead, into the checkpoint.
    } finally FileUtils.deleteDirectory(checkpoint.toFile)

  private def bytes(random: Random, text: String): String =
    new String(changed(random, text.getBytes("UTF-8"), 4, words), "UTF-8")

  fuzz("any change in an offset of a chain gives rows of the list or a named error") { random =>
    on(copy(), chained) { stream =>
      val end = stream.deserializeOffset(bytes(random, written.offset))
      val rows = MicroBatch.read(stream, schema, stream.initialOffset(), end)
      assert(rows.map(_.head).distinct.size == rows.size && rows.forall(_.head.asInstanceOf[Int] < api.count))
    }
  }

  fuzz("any change in a journal gives its rows or a named error") { random =>
    val checkpoint = copy()
    val files = Using.resource(Files.list(checkpoint.resolve("journal")))(_.iterator.asScala.toSeq)
    val file = one(random, files.sortBy(_.toString))
    Files.write(file, changed(random, Files.readAllBytes(file), 3, words))
    on(checkpoint, chained) { stream =>
      val rows = MicroBatch.read(stream, schema, stream.initialOffset(), stream.deserializeOffset(written.offset))
      assert(rows == written.rows)
    }
  }

  fuzz("after any change in the first offset that a checkpoint keeps, the stream starts or fails by name") { random =>
    val checkpoint = copy()
    Using
      .resource(Files.walk(checkpoint))(_.iterator.asScala.toSeq)
      .filter(path => Files.isRegularFile(path) && !path.toString.contains("journal"))
      .foreach(path => Files.write(path, changed(random, Files.readAllBytes(path), 3, words)))
    on(checkpoint, chained) { stream =>
      val start = stream.initialOffset()
      MicroBatch.next(stream, start, ReadLimit.maxRows(5)).foreach(MicroBatch.read(stream, schema, start, _))
    }
  }

  Seq[(String, Path => MicroBatchStream)]("epochal-random" -> random, "a counted list" -> plain).foreach {
    case (source, open) =>
      fuzz(s"any change in an offset of $source gives rows or a named error") { random =>
        counted.count = 40
        on(Files.createTempDirectory(scratch, "round").resolve("0"), open) { stream =>
          val start = stream.initialOffset()
          val end = MicroBatch.next(stream, start, ReadLimit.maxRows(20)).get
          stream.planInputPartitions(start, stream.deserializeOffset(bytes(random, end.json)))
        }
      }
  }
}

private object FuzzedPositionsSuite {

  /** A checkpoint after one batch of 20 rows, its offset, and its rows. */
  final case class Written(checkpoint: Path, offset: String, rows: Seq[Seq[Any]])
}
