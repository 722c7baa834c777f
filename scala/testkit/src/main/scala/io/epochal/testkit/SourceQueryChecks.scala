package io.epochal.testkit

import java.nio.file.Files

import scala.util.Random

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.Trigger

import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.engine._
import io.epochal.testkit.report.{Check, Evidence, NotChecked}

/** Checks of a source under Spark's engine: restarts, replays, triggers. */
private[testkit] object SourceQueryChecks {

  private val Starts = 6
  private val SteadyRows = 40
  private val Undeclared =
    "the source has a continuous stream, and its fixture declares no modes: override modes() to " +
      "return Set.of(\"continuous\", \"real-time\"), or give the reason in exemptions()"

  def of(stage: Stage[SourceFixture, SourceScene]): Seq[Check] = Seq(
    stage.check(Replay)(replay),
    stage.check(CheckpointAlone)(checkpointAlone),
    stage.check(QueryAvailableNow)(availableNow),
    stage.check(Restarts)(restarts(_, Random.nextLong())),
    stage.check(ToContinuous)(assertSwitch(Mode.MicroBatch, Mode.Continuous)),
    stage.check(SteadyTasks)(steadyTasks),
    stage.check(FromRealTime)(assertSwitch(Mode.RealTime, Mode.MicroBatch))
  )

  private def replay(scene: SourceScene): Unit = {
    val query = scene.query()
    scene.deliver(query, 10)(scene.add(10))
    scene.deliver(query, 20)(scene.add(10))
    query.forgetLastCommit()
    scene.deliver(query, 25)(scene.add(5))
    Evidence.unless(scene.deliveries(query).all.groupBy(_._1).exists(_._2.size > 1))("no epoch was delivered again")
    scene.assertOnceEach(query, "after a replay")
  }

  private def checkpointAlone(scene: SourceScene): Unit = {
    val original = scene.query("original")
    scene.deliver(original, 10)(scene.add(10))
    val copy = scene.query("restored")
    if (scene.fixture.keepsRows) {
      FileUtils.copyDirectory(original.checkpoint.toFile, copy.checkpoint.toFile)
      val before = scene.deliveries(original).rows
      // Two batches: with the second one Spark commits the first to the source.
      scene.deliver(original, 20)(scene.add(10))
      scene.deliver(original, 30)(scene.add(10))
      val rest = scene.deliveries(original).rows.diff(before)
      Evidence.onceEach("after the checkpoint was copied, in the query itself", rest, 20L)
      scene.deliver(copy, 20)()
      Evidence.sameRows("from an older copy of the checkpoint", scene.deliveries(copy).rows, rest)
    } else {
      val last = scene.deliveries(original).all.last._2
      val _ = Files.move(original.checkpoint, copy.checkpoint)
      copy.forgetLastCommit()
      scene.deliver(copy, last.size + 5L)(scene.add(5))
      val deliveries = scene.deliveries(copy)
      Evidence.sameRows("from a checkpoint that was moved, the last epoch", deliveries.all.head._2, last)
      deliveries.onceEach("from a checkpoint that was moved", last.size + 5L)
    }
  }

  private def availableNow(scene: SourceScene): Unit = {
    val query = scene.query()
    scene.addBefore(query, 25)
    def run(): Unit = scene.running(query.start(Session.get(), Some(Trigger.AvailableNow()))) { active =>
      val hasEnded = QueryWatch.until()(!active.isActive)
      QueryWatch.assertNoError(active)
      Evidence.unless(hasEnded)(s"the query has not ended after ${QueryWatch.DeadlineSeconds} s")
    }
    run()
    scene.assertOnceEach(query, "the first run")
    run()
    scene.assertOnceEach(query, "after a second run, with nothing new")
    scene.addBefore(query, 5)
    run()
    scene.assertOnceEach(query, "after a third run, with 5 more rows")
  }

  /** Adds rows, starts and stops in random order. */
  private def restarts(scene: SourceScene, seed: Long): Unit = {
    val random = new Random(seed)
    val query = scene.query()
    val deliveries = scene.deliveries(query)
    // Deliver first: a query that is stopped while Spark logs its first batch cannot be restarted, with any source.
    scene.deliver(query, 5)(scene.add(5))
    (1 to Starts).foreach { _ =>
      scene.running(query.start(Session.get())) { active =>
        (0 to random.nextInt(3)).foreach { _ =>
          scene.add(1 + random.nextInt(9))
          // Stops in the middle of a batch, or after it.
          if (random.nextBoolean()) { val _ = QueryWatch.run(active)(deliveries.distinctRows >= scene.added) }
        }
        QueryWatch.assertNoError(active)
      }
    }
    scene.deliver(query, scene.added)(scene.add(3))
    scene.assertOnceEach(query, s"after $Starts starts (seed $seed)")
  }

  /** Sinks that store rows in the middle of an epoch recognise them by their place in their task. */
  private def steadyTasks(scene: SourceScene): Unit = {
    val source = inMode(scene, Mode.Continuous)
    if (source.receives) throw new NotChecked("declared: it receives rows only while a query runs")
    scene.add(SteadyRows)
    def run(start: Option[String], most: Int, total: Int): EndlessTasks = {
      val stream = source.newContinuousStream(scene.place("stream"))
      val tasks = EndlessTasks.read(stream, source.schema, start.map(stream.deserializeOffset), most, total)
      stream.stop()
      tasks
    }
    val first = run(None, Int.MaxValue, SteadyRows)
    val start = Some(first.start.json)
    Evidence.onceEach("of all tasks together", first.rows.flatten, SteadyRows.toLong)
    Evidence.equal("rows of each task, after a restart", run(start, Int.MaxValue, SteadyRows).rows, first.rows)
    val firstRun = run(start, SteadyRows / 10, SteadyRows)
    val rest = run(Some(firstRun.end.json), Int.MaxValue, SteadyRows - firstRun.rows.flatten.size)
    val whole = firstRun.rows.zipAll(rest.rows, Nil, Nil).map { case (before, after) => before ++ after }
    Evidence.equal("rows of each task, before and after a restart", whole, first.rows)
  }

  private def inMode(scene: SourceScene, mode: Mode): FormatSource = scene.fixture match {
    case source: FormatSource if source.modes.contains(mode.name)            => source
    case source: FormatSource if source.modes.isEmpty && source.isContinuous => Evidence.broken(Undeclared)
    case _: FormatSource => throw new NotChecked(s"declared: no ${mode.name} mode")
    case _               => throw new NotChecked(s"${mode.name} mode needs a format: the fixture is no FormatSource")
  }

  private def assertSwitch(first: Mode, second: Mode)(scene: SourceScene): Unit = {
    Seq(first, second).filterNot(_ == Mode.MicroBatch).foreach(inMode(scene, _))
    val query = scene.query()
    scene.deliver(query.in(first), 10)(scene.add(10))
    scene.deliver(query.in(second), 20)(scene.add(10))
    scene.assertOnceEach(query, s"${first.name}, then ${second.name}")
  }
}
