package io.epochal.rest.source.since

import java.nio.file.Files
import java.time.{Duration, Instant}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException
import io.epochal.kit.source.ManualClock
import io.epochal.rest.source.SteppedQuery

/** Queries over a [[SinceApi]], run batch by batch as by Spark, without a session. */
trait SinceFixture extends Assertions {

  final protected class Query(
      val api: SinceApi,
      options: Map[String, String],
      val clock: ManualClock = new ManualClock(SinceApi.start))
      extends SteppedQuery[(Int, Int)](StructType.fromDDL("id INT, version INT"), options, clock)(row =>
        (row.head.asInstanceOf[Int], row(1).asInstanceOf[Int])) {

    /** Changes items to a version, one second after the last change. */
    def change(version: Int, ids: Int*): Unit = ids.foreach { id =>
      clock.advance(1)
      api.put("a", Item(id, clock.instant(), version))
    }

    def put(id: Int, version: Int, at: Instant): Unit = api.put("a", Item(id, at, version))

    def batches(limit: Long): Seq[(Int, Int)] =
      Iterator.continually(batch(ReadLimit.maxRows(limit))).takeWhile(_.nonEmpty).toVector.flatten

    def logBytes: Long = {
      val path = checkpoint.resolve("journal").resolve("members")
      Files.list(path).iterator().asScala.map(Files.size(_)).sum
    }
  }

  protected def moment(second: Long): Instant = SinceApi.start.plus(Duration.ofSeconds(second))

  protected def optionsOf(api: SinceApi, kind: String): Map[String, String] = (kind match {
    case "body"    => Map("records" -> "/data")
    case "graphql" => Map.empty[String, String]
    case _         => Map("records" -> "/data", "sinceParam" -> "since")
  }) ++ SinceApi.kinds(kind) ++ Map(
    "url" -> s"${api.url}/items/a",
    "sinceField" -> "/updated_at",
    "keyColumns" -> "id",
    "refreshInterval" -> "0s",
    "retry.initialDelay" -> "1ms",
    "retry.maxDelay" -> "20ms")

  protected def query[A](kind: String, more: (String, String)*)(body: Query => A): A = {
    val api = new SinceApi
    try {
      val query = new Query(api, optionsOf(api, kind) ++ more)
      try body(query)
      finally query.stream.stop()
    } finally api.close()
  }

  protected def failure(body: => Any): EpochalException = intercept[EpochalException] { val _ = body }
}
