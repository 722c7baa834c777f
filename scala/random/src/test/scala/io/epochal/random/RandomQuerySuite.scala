package io.epochal.random

import java.nio.file.Files
import java.time.{Clock, Instant}
import java.util
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.streaming.{Offset, PartitionOffset, SparkDataStream, SupportsRealTimeMode}
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.test.QuerySuite
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{DataFrame, Dataset, ForeachWriter}
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.source.{ManualClock, SourceStream}

/** Queries, tested with Spark's `StreamTest` actions. */
final class RandomQuerySuite extends QuerySuite {
  import testImplicits._

  private def ids(options: (String, String)*): DataFrame =
    spark.readStream.format("epochal-random").options(options.toMap).load().select($"id")

  /** One row per second of the clock; the values are ids + 1, as `runStressTest` requires. */
  private def counting(clock: ManualClock): Dataset[Int] = {
    ManualProvider.clock = clock
    spark.readStream
      .format(classOf[ManualProvider].getName)
      .option("rowsPerSecond", "1")
      .load()
      .select(($"id" + 1).cast("int").as[Int])
  }

  /** Advances the clock, so that the rows become available. */
  private case class Advance(clock: ManualClock, data: Seq[Int]) extends AddData {
    override def addData(query: Option[StreamExecution]): (SparkDataStream, Offset) = {
      clock.advance(data.size.toLong)
      val stream = query.toSeq
        .flatMap(_.logicalPlan.collect { case relation: StreamingDataSourceV2ScanRelation =>
          relation.stream.asInstanceOf[SourceStream[_]]
        })
        .head
      (stream, stream.latestOffset(stream.initialOffset(), stream.getDefaultReadLimit))
    }
  }

  test("every row is delivered once, through random starts, stops and arrivals", Slow) {
    val clock = new ManualClock(Instant.parse("2026-01-01T00:00:00Z"))
    val started = AssertOnQuery { query => query.processAllAvailable(); true }
    // Before the first row Spark logs no offset to wait for.
    val nothing = AssertOnQuery(_ => true)
    runStressTest(counting(clock), Seq(started), (data, _) => if (data.isEmpty) nothing else Advance(clock, data), 25)
  }

  test("a stopped query resumes where it was") {
    val clock = new ManualClock(Instant.parse("2026-01-01T00:00:00Z"))
    testStream(counting(clock))(
      StartStream(),
      AssertOnQuery { query => query.processAllAvailable(); true },
      Advance(clock, Seq(1, 2, 3)),
      CheckAnswer(1, 2, 3),
      StopStream,
      Advance(clock, Seq(4)),
      StartStream(),
      Advance(clock, Seq(5)),
      CheckAnswer(1, 2, 3, 4, 5)
    )
  }

  test("AvailableNow delivers maxRows in batches of rowsPerBatch and ends") {
    withTempDir { checkpoint =>
      val query = ids("rowsPerBatch" -> "10", "maxRows" -> "25").writeStream
        .format("memory")
        .queryName("available")
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(Trigger.AvailableNow())
        .start()
      assert(query.awaitTermination(60000))
      checkAnswer(spark.table("available"), (0L until 25L).map(org.apache.spark.sql.Row(_)))
      assert(query.recentProgress.map(_.numInputRows).filter(_ > 0).toSeq == Seq(10, 10, 5))
      assert(query.recentProgress.last.sources.head.metrics.asScala.get("rowsBehind").contains("0"))
    }
  }

  test("a batch read returns the same maxRows rows each time, on any number of partitions") {
    def rows(partitions: Int) =
      spark.read.format("epochal-random").option("maxRows", "100").option("numPartitions", partitions.toLong).load()
    assert(rows(7).rdd.getNumPartitions == 7)
    checkAnswer(rows(7), rows(1).collect().toSeq)
    assert(rows(3).where("length = char_length(value) and length between 0 and 5").count() == 100)
    checkAnswer(rows(1).selectExpr("cast(max(timestamp) as double)"), Seq(org.apache.spark.sql.Row(946684809.9)))
  }

  test("no row is late for a watermark, not even row 0", Slow) {
    val counted = spark.readStream
      .format("epochal-random")
      .options(Map("rowsPerBatch" -> "10", "maxRows" -> "30"))
      .load()
      .withWatermark("timestamp", "0 seconds")
      .dropDuplicatesWithinWatermark("id")
    withTempDir { checkpoint =>
      val query = counted
        .select($"id")
        .writeStream
        .format("memory")
        .queryName("punctual")
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(Trigger.AvailableNow())
        .start()
      assert(query.awaitTermination(60000))
      checkAnswer(spark.table("punctual"), (0L until 30L).map(org.apache.spark.sql.Row(_)))
    }
  }

  test("a continuous query refuses rowsPerBatch") {
    withTempDir { checkpoint =>
      val query = ids("rowsPerBatch" -> "5").writeStream
        .format("noop")
        .option("checkpointLocation", checkpoint.getPath)
        .trigger(Trigger.Continuous(100))
        .start()
      val error = intercept[Exception](query.awaitTermination(60000))
      assert(error.getMessage.contains("[EPOCHAL.MODE_UNSUPPORTED]"))
    }
  }

  test("a real-time run ends no epoch once a later run has begun") {
    val options = new CaseInsensitiveStringMap(Map("numPartitions" -> "2").asJava)
    val query = Files.createTempDirectory("runs")
    val checkpoint = query.resolve("sources/0").toString

    /** Plans an epoch, whose end it returns when asked. */
    def begin(): () => Offset = {
      val table = new RandomProvider().getTable(RandomProvider.schema, Array.empty, options.asCaseSensitiveMap)
      val scan = table.asInstanceOf[SupportsRead].newScanBuilder(options).build()
      scan.toMicroBatchStream(checkpoint) match {
        case stream: SupportsRealTimeMode =>
          stream.prepareForRealTimeMode()
          val own = stream.asInstanceOf[SourceStream[RandomPosition]]
          val start = own.deserializeOffset(own.initialOffset().json)
          stream.planInputPartitions(start): Unit
          val ends = Seq.tabulate(2)(RandomPartitionOffset(start.position, _, 2, 3))
          () => stream.mergeOffsets(ends.toArray[PartitionOffset])
        case other => fail(s"$other has no real-time mode")
      }
    }

    val earlier = begin()
    val before = earlier().json
    val later = begin()
    assert(intercept[EpochalException](earlier()).condition == Conditions.RunSuperseded)
    assert(later().json == before)

    // A run that finds its epoch logged by another one does not take its place.
    Files.createDirectory(query.resolve("offsets"))
    Files.writeString(query.resolve("offsets/4"), "v1\n{}\n{}")
    spark.sparkContext.setLocalProperty("streaming.sql.batchId", "4")
    try assert(intercept[EpochalException](begin()).condition == Conditions.RunSuperseded)
    finally spark.sparkContext.setLocalProperty("streaming.sql.batchId", null)
    assert(later().json == before)
  }
}

/** Collects the rows of a query in this JVM, by name, since tasks of a stopped query may still be running. */
final class Delivered(name: String) extends ForeachWriter[Long] {
  override def open(partition: Long, epoch: Long): Boolean = true
  override def process(id: Long): Unit = { Delivered.into(name).add(id); () }
  override def close(error: Throwable): Unit = ()
}

object Delivered {
  private val queues = new ConcurrentHashMap[String, ConcurrentLinkedQueue[Long]]

  def into(name: String): ConcurrentLinkedQueue[Long] =
    queues.computeIfAbsent(name, _ => new ConcurrentLinkedQueue[Long])
}

/** The source with the test's clock. */
final class ManualProvider extends TableProvider {
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = RandomProvider.schema

  override def getTable(schema: StructType, parts: Array[Transform], properties: util.Map[String, String]): Table =
    RandomProvider.table(RandomOptions.read(properties.asScala.toMap).fold(throw _, identity), ManualProvider.clock)
}

object ManualProvider {
  @volatile var clock: Clock = Clock.systemUTC()
}
