package io.epochal.testkit

import java.nio.file.Files

import scala.util.Random

import org.apache.spark.sql.streaming.Trigger

import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.engine.{Mode, QueryWatch, Session}
import io.epochal.testkit.report.{Check, Evidence, NotChecked}

/** Checks of a source under Spark's engine: restarts, replays, triggers. */
private[testkit] object SourceQueryChecks {

  private val Starts = 6

  def of(stage: Stage[SourceFixture, SourceScene]): Seq[Check] = Seq(
    stage.check(Replay)(replay),
    stage.check(CheckpointAlone)(checkpointAlone),
    stage.check(QueryAvailableNow)(availableNow),
    stage.check(Restarts)(restarts(_, Random.nextLong())),
    stage.check(ToContinuous)(toContinuous),
    stage.check(FromRealTime)(fromRealTime)
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
    val restored = scene.query("restored")
    if (scene.fixture.keepsRows) {
      Directories.copy(original.checkpoint, restored.checkpoint)
      val before = scene.deliveries(original).rows
      // Two batches: with the second one Spark commits the first to the source.
      scene.deliver(original, 20)(scene.add(10))
      scene.deliver(original, 30)(scene.add(10))
      val expected = scene.deliveries(original).rows.diff(before)
      Evidence.onceEach("after the checkpoint was copied, in the query itself", expected, 20L)
      scene.deliver(restored, 20)()
      Evidence.sameRows("from an older copy of the checkpoint", scene.deliveries(restored).rows, expected)
    } else {
      val last = scene.deliveries(original).all.last._2
      val _ = Files.move(original.checkpoint, restored.checkpoint)
      restored.forgetLastCommit()
      scene.deliver(restored, last.size + 5L)(scene.add(5))
      val found = scene.deliveries(restored)
      Evidence.sameRows("from a checkpoint that was moved, the last epoch", found.all.head._2, last)
      found.onceEach("from a checkpoint that was moved", last.size + 5L)
    }
  }

  private def availableNow(scene: SourceScene): Unit = {
    val query = scene.query()
    scene.addBefore(query, 25)
    def run(): Unit = scene.running(query.start(Session.get(), Some(Trigger.AvailableNow()))) { started =>
      val ended = QueryWatch.until()(!started.isActive)
      QueryWatch.assertNoError(started)
      Evidence.unless(ended)(s"the query has not ended after ${QueryWatch.DeadlineSeconds} s")
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
    val found = scene.deliveries(query)
    // Deliver first: a query that is stopped while Spark logs its first batch cannot be restarted, with any source.
    scene.deliver(query, 5)(scene.add(5))
    (1 to Starts).foreach { _ =>
      scene.running(query.start(Session.get())) { started =>
        (0 to random.nextInt(3)).foreach { _ =>
          scene.add(1 + random.nextInt(9))
          // Stops in the middle of a batch, or after it.
          if (random.nextBoolean()) { val _ = QueryWatch.run(started)(found.distinctRows >= scene.added) }
        }
        QueryWatch.assertNoError(started)
      }
    }
    scene.deliver(query, scene.added)(scene.add(3))
    scene.assertOnceEach(query, s"after $Starts starts (seed $seed)")
  }

  private def declared(scene: SourceScene, mode: Mode): Unit = scene.fixture match {
    case named: FormatSource if named.modes.contains(mode.name) => ()
    case _: FormatSource => throw new NotChecked(s"declared: no ${mode.name} mode")
    case _               => throw new NotChecked(s"${mode.name} mode needs a format: the fixture is no FormatSource")
  }

  private def toContinuous(scene: SourceScene): Unit = {
    declared(scene, Mode.Continuous)
    val query = scene.query()
    scene.deliver(query, 10)(scene.add(10))
    scene.deliver(query.in(Mode.Continuous), 20)(scene.add(10))
    scene.assertOnceEach(query, "micro-batch, then continuous")
  }

  private def fromRealTime(scene: SourceScene): Unit = {
    declared(scene, Mode.RealTime)
    val query = scene.query()
    scene.deliver(query.in(Mode.RealTime), 10)(scene.add(10))
    scene.deliver(query, 15)(scene.add(5))
    scene.assertOnceEach(query, "real-time, then micro-batch")
  }
}
