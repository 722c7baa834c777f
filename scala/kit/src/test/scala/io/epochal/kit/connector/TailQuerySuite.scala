package io.epochal.kit.connector

import java.nio.file.Files
import java.util.UUID
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.{ForeachWriter, Row}
import org.scalatest.time.{Millis, Minutes, Span}

import io.epochal.kit.source.InitialOffset

/** Endless rows of a connector, in whole queries. */
final class TailQuerySuite extends QuerySuite {

  private def rows(feed: String): Set[String] = Followed.of(feed).asScala.toSet

  test("a partition that the origin adds while a continuous query runs is followed from the end of an epoch on") {
    withTempDir { checkpoint =>
      val feed = UUID.randomUUID().toString
      Numbers.feed(feed).size.set(3)
      val query = spark.readStream
        .format(classOf[Lanes].getName)
        .option("feed", feed)
        .load()
        .selectExpr("concat(lane, '/', id)")
        .writeStream
        .foreach(new Followed(feed))
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(Trigger.Continuous("200 milliseconds"))
        .start()
      def eventuallyThere(lanes: Int, size: Int): Unit =
        eventually(timeout(Span(2, Minutes)), interval(Span(50, Millis))) {
          query.exception.foreach(throw _)
          assert(rows(feed) == (0 until lanes).flatMap(n => (0 until size).map(id => s"lane $n/$id")).toSet)
        }
      try {
        eventuallyThere(lanes = 1, size = 3)
        Numbers.feed(feed).parts = 2
        eventuallyThere(lanes = 2, size = 3)
        Numbers.feed(feed).size.set(5)
        eventuallyThere(lanes = 2, size = 5)
      } finally query.stop()
    }
  }

  for ((step, fails) <- Seq[(String, Numbers.Feed => Unit)](
      "merges offsets" -> (_.unmerged = Some("out of order")),
      "releases rows" -> (_.unreleased = Some("out of order"))))
    test(s"an origin that fails when it $step ends a continuous query with the reason") {
      val feed = UUID.randomUUID().toString
      Numbers.feed(feed).size.set(3)
      fails(Numbers.feed(feed))
      val query = spark.readStream
        .format(classOf[Lanes].getName)
        .option("feed", feed)
        .load()
        .selectExpr("lane")
        .writeStream
        .foreach(new Followed(feed))
        .trigger(Trigger.Continuous("200 milliseconds"))
        .start()
      try {
        val error = intercept[Exception](query.awaitTermination(60000))
        assert(error.getMessage.contains("CONNECTOR_FAILED") && error.getMessage.contains("out of order"))
      } finally query.stop()
    }

  for (format <- Seq(classOf[Moments], classOf[GivenMoments]))
    test(s"the highest time in eventTimeColumn is in the offset and in the progress: ${format.getSimpleName}") {
      withTempDir { checkpoint =>
        val query = spark.readStream
          .format(format.getName)
          .options(Map("eventTimeColumn" -> "at", "maxRowsPerBatch" -> "4"))
          .load()
          .writeStream
          .format("noop")
          .option("checkpointLocation", checkpoint.getPath)
          .trigger(Trigger.AvailableNow())
          .start()
        query.awaitTermination()
        val found = query.recentProgress.filter(_.numInputRows > 0).map(_.sources.head)
        assert(found.map(_.metrics.get("eventTime")).toSeq == Seq(3L, 7L, 9L).map(Moments.at(_).toString))
        // The mark before the last batch: the one known when that batch was planned.
        assert(found.last.startOffset.contains(s"\"${Moments.at(3)}\""))
      }
    }

  test("the lag at the end of an epoch is known if the origin looks ahead") {
    val feed = UUID.randomUUID().toString
    Numbers.feed(feed).size.set(4)
    val connector = new Lanes
    val settings = connector.settings(Map("feed" -> feed))
    val initial = new InitialOffset(Files.createTempDirectory("tails").toString, new Configuration(false))
    val source = new TailSource(connector, ConnectorRead(settings, connector.schema(settings), 2), initial)
    assert(!source.needsReconfiguration && source.endlessPartitions(source.first).length == 1)
    Numbers.feed(feed).parts = 2
    assert(source.needsReconfiguration)
    source.lookAhead(ConnectorPosition(1L, Lanes.at("lane 0" -> 1L)))
    assert(source.supply.known.map(_.exists).contains(8L) && source.supply.latest.exists(_.rows == 8L))
    source.supply.close()
  }
}

/** Rows that queries in this JVM have written, by feed. */
object Followed {
  private val all = new java.util.concurrent.ConcurrentHashMap[String, ConcurrentLinkedQueue[String]]
  def of(feed: String): ConcurrentLinkedQueue[String] = all.computeIfAbsent(feed, _ => new ConcurrentLinkedQueue)
}

final class Followed(feed: String) extends ForeachWriter[Row] {
  override def open(partition: Long, epoch: Long): Boolean = true
  override def process(row: Row): Unit = { val _ = Followed.of(feed).add(row.getString(0)) }
  override def close(error: Throwable): Unit = ()
}
