package io.epochal.formats

import java.io.File
import java.lang.management.ManagementFactory
import java.nio.file.Files
import javax.management.ObjectName

import scala.jdk.CollectionConverters._

import com.codahale.metrics.MetricRegistry
import com.codahale.metrics.jmx.JmxReporter
import org.apache.spark.SparkEnv
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tags.Slow
import org.scalatest.time.SpanSugar._

import io.epochal.kit.spark.QueryMetrics

/** Gauges of queries in Spark's metrics system. */
@Slow
final class QueryMetricsSuite extends QuerySuite {

  private def registry: MetricRegistry = {
    val system = SparkEnv.get.metricsSystem
    val field = system.getClass.getDeclaredField("registry")
    field.setAccessible(true)
    field.get(system).asInstanceOf[MetricRegistry]
  }

  /** Values by gauge name, without the prefix `epochal.`. */
  private def gauges: Map[String, Double] = registry.getGauges.asScala.toMap.collect {
    case (name, gauge) if name.contains(".driver.epochal.") =>
      name.split("\\.driver\\.epochal\\.").last -> gauge.getValue.asInstanceOf[Double]
  }

  private def labels: Set[String] = gauges.keySet.map(_.takeWhile(_ != '.'))

  private def start(
      directory: File,
      name: String,
      rows: Int,
      session: SparkSession = spark,
      options: Map[String, String] = Map.empty,
      trigger: Trigger = Trigger.ProcessingTime(0),
      value: String = "value"
  ): StreamingQuery = {
    Files.createDirectories(directory.toPath)
    val writer = session.readStream
      .format("epochal-random")
      .options(Map("rowsPerBatch" -> "10", "maxRows" -> rows.toString))
      .load()
      .selectExpr("id", s"$value AS value")
      .writeStream
      .format("epochal-jdbc")
      .options(
        Map("url" -> s"jdbc:sqlite:$directory/rows.db", "dbtable" -> "strings", "createTable" -> "true") ++ options)
      .option("checkpointLocation", s"$directory/checkpoint")
      .trigger(trigger)
    (if (name.isEmpty) writer else writer.queryName(name)).start()
  }

  private def using(body: File => Any): Unit = {
    withTempDir { directory =>
      try { body(directory); () }
      finally spark.streams.active.foreach(_.stop())
    }
    eventually(timeout(30.seconds))(assert(gauges.isEmpty))
  }

  private def reaches(name: String, value: Double): Unit =
    eventually(timeout(60.seconds))(assert(gauges.get(name).contains(value), gauges))

  test("a running query has gauges of source and sink under its name, and none after its end") {
    using { directory =>
      val query = start(directory, "some strings", 30, options = Map("sinkId" -> "my-sink"))
      reaches("some_strings.source.0.epochal_random.totalRows", 30)
      query.processAllAvailable()
      val now = gauges
      def sink(name: String) = now(s"some_strings.sink.my_sink.$name")
      def source(name: String) = now(s"some_strings.source.0.epochal_random.$name")
      assert(
        Seq("epoch", "totalEpochs", "totalRows", "totalBadRows", "repeatedEpochs", "retries").map(sink) == Seq(2, 3, 30,
          0, 0, 0))
      assert(sink("commitMs") >= 0 && sink("loadMs") >= 0 && sink("totalBytes") > 0 && sink("secondsSinceEpoch") >= 0)
      assert(Seq("rowsBehind", "rowsBehindExact", "secondsBehind").map(source) == Seq(0, 1, 0))
      assert(source("secondsSincePoll") >= 0)
      query.stop()
      eventually(timeout(30.seconds))(assert(gauges.isEmpty))
    }
  }

  test("a new run replaces the gauges of the previous one and counts from its start") {
    using { directory =>
      start(directory, "strings", 30, trigger = Trigger.AvailableNow()).awaitTermination()
      start(directory, "strings", 50)
      reaches("strings.source.0.epochal_random.totalRows", 20)
      assert(gauges("strings.sink.epochal_jdbc.totalRows") == 20 && gauges("strings.sink.epochal_jdbc.epoch") == 4)
      assert(labels == Set("strings"))
    }
  }

  test("a replayed epoch counts as repeated, its rows as read and not as written") {
    using { directory =>
      start(directory, "strings", 30, trigger = Trigger.AvailableNow()).awaitTermination()
      Seq("2", ".2.crc").foreach(name => Files.delete(directory.toPath.resolve("checkpoint/commits").resolve(name)))
      start(directory, "strings", 40)
      reaches("strings.source.0.epochal_random.totalRows", 20)
      val now = gauges
      assert(now("strings.sink.epochal_jdbc.totalRows") == 10 && now("strings.sink.epochal_jdbc.repeatedEpochs") == 1)
    }
  }

  test("bad rows count as bad and not as written") {
    using { directory =>
      val bad = "CASE WHEN id % 10 = 3 THEN decode(unhex('00'), 'UTF-8') ELSE value END"
      start(directory, "strings", 30, options = Map("deadLetterTable" -> "bad"), value = bad)
      reaches("strings.sink.epochal_jdbc.totalBadRows", 3)
      assert(gauges("strings.sink.epochal_jdbc.totalRows") == 27)
    }
  }

  test("concurrent queries have separate gauges, and the end of one keeps those of the others") {
    using { directory =>
      val names = Seq("q", "q1", "q1_2")
      val queries = names.map(name => start(new File(directory, name), name, 30))
      names.foreach(name => reaches(s"$name.sink.epochal_jdbc.totalRows", 30))
      queries.head.stop()
      eventually(timeout(30.seconds))(assert(labels == Set("q1", "q1_2")))
      assert(gauges.keySet.count(_.startsWith("q1.")) == gauges.keySet.count(_.startsWith("q1_2.")))
    }
  }

  test("of two queries with one name in two sessions, the later one's name ends with the beginning of its id") {
    using { directory =>
      val other = spark.newSession()
      start(new File(directory, "a"), "strings", 30)
      reaches("strings.sink.epochal_jdbc.totalRows", 30)
      val later = start(new File(directory, "b"), "strings", 20, other)
      try {
        val label = s"strings_${later.id.toString.take(8)}"
        reaches(s"$label.sink.epochal_jdbc.totalRows", 20)
        reaches(s"$label.source.0.epochal_random.totalRows", 20)
        assert(gauges("strings.sink.epochal_jdbc.totalRows") == 30)
      } finally later.stop()
    }
  }

  test("an unnamed query is named by its id, and two sources of a query by number") {
    using { directory =>
      def rows =
        spark.readStream.format("epochal-random").options(Map("rowsPerBatch" -> "10", "maxRows" -> "10")).load()
      val query = rows.union(rows).writeStream.format("noop").option("checkpointLocation", directory.getPath).start()
      val label = query.id.toString.replace('-', '_')
      reaches(s"$label.source.0.epochal_random.totalRows", 10)
      reaches(s"$label.source.1.epochal_random.totalRows", 10)
      assert(labels == Set(label))
    }
  }

  test("JMX exposes the gauges as beans until the query ends") {
    using { directory =>
      val reporter = JmxReporter.forRegistry(registry).inDomain("metrics").build()
      reporter.start()
      try {
        val query = start(directory, "strings", 30, options = Map("sinkId" -> "warehouse"))
        reaches("strings.sink.warehouse.totalRows", 30)
        val names = new ObjectName("metrics:name=*.driver.epochal.strings.sink.warehouse.totalRows,type=gauges")
        val server = ManagementFactory.getPlatformMBeanServer
        val beans = server.queryNames(names, null).asScala
        assert(beans.toSeq.map(server.getAttribute(_, "Value")) == Seq(30.0))
        query.stop()
        eventually(timeout(30.seconds))(assert(server.queryNames(names, null).isEmpty))
      } finally reporter.stop()
    }
  }

  test("a failed query leaves no gauges") {
    using { directory =>
      val query = start(directory, "strings", 30, options = Map("sinkId" -> "a"))
      reaches("strings.sink.a.totalRows", 30)
      query.stop()
      org.apache.commons.io.FileUtils.deleteDirectory(new File(directory, "checkpoint"))
      val failing = start(directory, "strings", 30, options = Map("sinkId" -> "a"))
      intercept[Exception](failing.awaitTermination())
      eventually(timeout(30.seconds))(assert(gauges.isEmpty))
    }
  }

  test("a thread without a query registers no gauges") {
    QueryMetrics.show(Seq("sink", "nobody"), Seq("rows"))(_ => 1.0)
    assert(gauges.isEmpty)
  }
}
