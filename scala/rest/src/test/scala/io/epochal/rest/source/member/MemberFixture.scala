package io.epochal.rest.source.member

import java.nio.file.Files
import java.time.Instant

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.ManualClock
import io.epochal.rest.source.{RestOptions, SteppedQuery}

/** Queries over a [[TreeApi]], run batch by batch as by Spark, without a session. */
trait MemberFixture extends Assertions {

  final protected class Query(val api: TreeApi, val clock: ManualClock, kind: String, more: (String, String)*)
      extends SteppedQuery[String](StructType.fromDDL("id STRING"), TreeApi.options(api, kind) ++ more, clock)(
        _.head.toString) {

    def files(directory: String): Seq[String] = {
      val path = checkpoint.resolve(directory)
      if (Files.exists(path)) Files.list(path).iterator().asScala.map(_.getFileName.toString).toSeq else Nil
    }
  }

  protected def started(api: TreeApi, kind: String, more: (String, String)*): Query =
    new Query(api, new ManualClock(Instant.EPOCH.plusSeconds(1)), kind, more: _*)

  protected def parsed(options: Map[String, String]): RestOptions = RestOptions.read(options).fold(throw _, identity)

  protected def query[A](repos: (String, Int)*)(body: Query => A): A = of("cursor")(repos: _*)(body)

  protected def of[A](kind: String, more: (String, String)*)(repos: (String, Int)*)(body: Query => A): A =
    TreeApi.using { api =>
      repos.foreach { case (repo, records) => api.add(repo, records) }
      val query = started(api, kind, more: _*)
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
