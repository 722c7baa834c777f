package io.epochal.rest.source.member

import java.nio.file.{Files, Path}
import java.time.Instant

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.{ManualClock, SourceStream}
import io.epochal.rest.source.{RestOptions, RestPosition, RestStreams}
import io.epochal.testkit.MicroBatch

/** Queries over a [[TreeApi]], run batch by batch as by Spark, without a session. */
trait MemberFixture extends Assertions {

  final protected class Query(val api: TreeApi, kind: String, more: (String, String)*) {
    val schema: StructType = StructType.fromDDL("id STRING")
    val checkpoint: Path = Files.createTempDirectory("rest").resolve("0")
    val clock = new ManualClock(Instant.EPOCH.plusSeconds(1))
    private val options = TreeApi.options(api, kind) ++ more
    var stream: SourceStream[RestPosition] = start()
    var at: Offset = stream.initialOffset()

    def start(more: (String, String)*): SourceStream[RestPosition] =
      RestStreams.of(parsed(options ++ more), schema, checkpoint, clock)

    def restart(more: (String, String)*): Unit = {
      stream.stop()
      stream = start(more: _*)
      at = stream.deserializeOffset(at.json)
    }

    def read(end: Offset, from: Offset = at): Seq[String] =
      MicroBatch.read(stream, schema, from, end).map(_.head.toString)

    def next(limit: ReadLimit = ReadLimit.allAvailable()): Option[Offset] = MicroBatch.next(stream, at, limit)

    /** The ids of the next batch. */
    def batch(limit: ReadLimit = ReadLimit.allAvailable()): Seq[String] = next(limit).fold(Seq.empty[String]) { end =>
      stream.commit(at)
      val ids = read(end)
      at = stream.deserializeOffset(end.json)
      ids
    }

    def metric(name: String): String = stream.metrics(java.util.Optional.of(at)).get(name)

    def files(directory: String): Seq[String] = {
      val path = checkpoint.resolve(directory)
      if (Files.exists(path)) Files.list(path).iterator().asScala.map(_.getFileName.toString).toSeq else Nil
    }
  }

  protected def parsed(options: Map[String, String]): RestOptions = RestOptions.read(options).fold(throw _, identity)

  protected def query[A](repos: (String, Int)*)(body: Query => A): A = of("cursor")(repos: _*)(body)

  protected def of[A](kind: String, more: (String, String)*)(repos: (String, Int)*)(body: Query => A): A =
    TreeApi.using { api =>
      repos.foreach { case (repo, records) => api.add(repo, records) }
      val query = new Query(api, kind, more: _*)
      try body(query)
      finally query.stream.stop()
    }

  protected def failure(body: => Any): EpochalException = intercept[EpochalException] { val _ = body }

  /** Asserts that the ids are those of these repositories, each once, and each repository's in order. */
  protected def whole(ids: Seq[String], api: TreeApi, repos: String*): Unit = {
    repos.foreach(repo => assert(ids.filter(_.startsWith(s"$repo#")) == api.ids(repo)))
    val _ = assert(ids.size == repos.map(api.ids(_).size).sum)
  }
}
