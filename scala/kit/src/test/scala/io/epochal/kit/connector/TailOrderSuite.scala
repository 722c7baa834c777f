package io.epochal.kit.connector

import java.nio.file.Files
import java.util
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.test.QuerySuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.kit.source.InitialOffset
import io.epochal.testkit.{Conformance, FormatSource}

/** Each task continues with the tail that it has read, however the origin orders its tails. */
final class TailOrderSuite extends QuerySuite {

  /** A query's source over two lanes, restarted by `source`. */
  private class Scene {
    val name: String = UUID.randomUUID().toString
    val feed: Numbers.Feed = Numbers.feed(name)
    private val checkpoint = Files.createTempDirectory("tails")
    feed.parts = 2

    def source(): TailSource[Lanes.Position] = {
      val connector = new Lanes
      val settings = connector.settings(Map("feed" -> name))
      val initial = new InitialOffset(checkpoint.toString, new Configuration(false))
      new TailSource(connector, ConnectorRead(settings, connector.schema(settings), 2), initial)
    }
  }

  private def tails(partitions: Array[InputPartition]): Seq[String] =
    partitions.toSeq.collect { case tail: TailPartition => tail.start }

  /** The position after each task has delivered so many rows, as it is logged. */
  private def logged(source: TailSource[Lanes.Position], start: ConnectorPosition[Lanes.Position], counts: Long*) = {
    val ends = tails(source.endlessPartitions(start)).zip(counts).zipWithIndex.map { case ((tail, count), index) =>
      val lane = PositionFormat.numbers().fromText(tail).firstKey
      val end = PositionFormat.numbers().toText(Lanes.at(lane -> count))
      TailOffset(TailPartition(index, start.rows, tail), end, count)
    }
    val merged = source.merge(ends)
    assert(source.fromJson(source.toJson(merged)) == Right(merged))
    merged
  }

  private def refused(condition: Condition)(body: => Any): Unit =
    assert(intercept[EpochalException](body).condition == condition)

  for (kept <- Seq(true, false))
    test(s"an origin that reverses its tails gives each task its own again, from the first offset (kept: $kept)") {
      val scene = new Scene
      val first = scene.source()
      val planned = tails(first.endlessPartitions(first.first))
      if (kept) first.keepPartitions()
      scene.feed.reversed = true
      val again = scene.source()
      assert((tails(again.endlessPartitions(first.first)) == planned) == kept && !again.regrouped)
    }

  test("the offset at the end of an epoch has the position of each task") {
    val scene = new Scene
    val first = scene.source()
    val end = logged(first, first.first, 5, 3)
    scene.feed.reversed = true
    val again = scene.source()
    assert(tails(again.endlessPartitions(end)) == Seq("{\"lane 0\":5}", "{\"lane 1\":3}") && !again.regrouped)
  }

  test("tails that begin elsewhere than the tasks ended are another division of the rows, until it is kept") {
    val scene = new Scene
    val first = scene.source()
    val end = logged(first, first.first, 5, 3)
    scene.feed.skipped = 1
    val again = scene.source()
    val planned = tails(again.endlessPartitions(end))
    assert(again.regrouped && planned == Seq("{\"lane 0\":6}", "{\"lane 1\":4}"))
    val third = scene.source()
    assert(tails(third.endlessPartitions(end)) == planned && third.regrouped)
    third.keepPartitions()
    scene.feed.reversed = true
    val fourth = scene.source()
    assert(tails(fourth.endlessPartitions(end)) == planned && !fourth.regrouped)
  }

  test("the offset of a single task has no list of tails") {
    val scene = new Scene
    scene.feed.parts = 1
    val source = scene.source()
    assert(!source.toJson(logged(source, source.first, 5)).contains("tails"))
  }

  test("an origin without tails, or with one twice, breaks a rule of the kit") {
    val scene = new Scene
    val source = scene.source()
    scene.feed.doubled = true
    refused(Conditions.ConnectorInvalid)(source.endlessPartitions(source.first))
    scene.feed.parts = 0
    refused(Conditions.ConnectorInvalid)(source.endlessPartitions(source.first))
  }

  private def steadyTasks(skipped: Int) =
    Conformance.source("lanes", () => new LanesFixture(skipped)).only("steady-tasks").run()

  test("the conformance kit finds that tasks are steady") {
    assert(steadyTasks(0).kept.size == 1)
  }

  test("the conformance kit finds that tasks are not steady", Slow) {
    val report = steadyTasks(1)
    assert(report.broken.size == 1, report)
  }
}

/** Two lanes, which the origin orders differently at every restart. */
final private class LanesFixture(skipped: Int) extends FormatSource(classOf[Lanes].getName) {
  private val name = UUID.randomUUID().toString
  private val feed = Numbers.feed(name)
  feed.parts = 2
  feed.skipped = skipped

  override def options: util.Map[String, String] = util.Map.of("feed", name)
  override def optionsOfAnotherSource: util.Map[String, String] = util.Map.of("feed", s"not-$name")
  override def modes: util.Set[String] = util.Set.of("continuous")
  override def makeAvailable(rows: Int): Unit = feed.size.addAndGet(rows.toLong / 2): Unit
}
