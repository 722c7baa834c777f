package io.epochal.testkit

import scala.util.Try

import io.epochal.core.error.Conditions
import io.epochal.testkit.SinkPromises._
import io.epochal.testkit.SinkScene.Batch
import io.epochal.testkit.engine.{Mode, QuerySpec, QueryWatch, Session, Step}
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** Checks of a sink whose writing process is killed at each step of an epoch, or in the middle of endless tasks. */
private[testkit] object SinkKillChecks {
  private type Stage = io.epochal.testkit.Stage[FormatSink, SinkScene]

  /** Number of concurrent commits when the process is killed; they are at different instructions then. */
  private val Commits = 6

  /** Number of processes that are killed during commits. */
  private val rounds: Int = if (sys.env.get("EPOCHAL_CRASH").contains("full")) 10 else 1

  private val killedAt: Seq[(Promise, Step)] = Seq(
    KillAfterOffsets -> Step.AfterOffsets,
    KillInTasks -> Step.InTasks,
    KillBeforeSinkCommit -> Step.BeforeSinkCommit,
    KillBeforeCommitLog -> Step.BeforeCommitLog,
    KillAfterCommitLog -> Step.AfterCommitLog
  )

  private val modes: Seq[(Promise, Mode)] = Seq(Continuous -> Mode.Continuous, RealTime -> Mode.RealTime)

  def of(stage: Stage): Seq[Check] = steps(stage) ++ endless(stage)

  private def steps(stage: Stage): Seq[Check] = KillRound.checks(ofKills) {
    val commits = Seq.fill(Commits)(RowsWithLedger -> Step.InSinkCommit)
    round(stage, killedAt ++ commits) ++ (1 until rounds).flatMap(_ => round(stage, commits))
  }

  private def round(stage: Stage, wanted: Seq[(Promise, Step)]): Seq[(Promise, Try[Unit])] =
    KillRound.run(wanted.map { case (promise, step) =>
      promise -> Try(stage.open(promise)).map(new KilledSink(promise, step, _))
    })

  /** Checks of queries with endless tasks. If the sink supports the mode, the query is killed in the middle of its rows; if not, the
    * sink must refuse it. The first check kills the process; the other reports its part of the result.
    */
  private def endless(stage: Stage): Seq[Check] = {
    lazy val found =
      KillRound.run(modes.map { case (promise, mode) => promise -> Try(victim(stage, promise, mode)) }).toMap
    modes.map { case (promise, mode) =>
      stage.check(promise) { scene =>
        mode.trigger // Throws NotChecked if this Spark lacks the mode.
        if (scene.supports(mode)) found(promise).get else refused(scene, mode)
      }
    }
  }

  private def victim(stage: Stage, promise: Promise, mode: Mode): Victim = {
    mode.trigger // Throws NotChecked if this Spark lacks the mode.
    val scene = stage.open(promise)
    if (scene.supports(mode)) new EndlessVictim(promise, mode, scene)
    else {
      scene.close()
      throw new NotChecked(s"the sink does not support ${mode.name} mode")
    }
  }

  private def refused(scene: SinkScene, mode: Mode): Unit = {
    val query = scene.query().in(mode)
    scene.setAvailable(query, 2L * Batch)
    scene.assertRefused(Conditions.TriggerUnsupported, s"a ${mode.name} query", query, scene.fixture.reports)
    scene.assertHolds(s"after a ${mode.name} query was refused", 0L)
    val logged = query.committed
    Evidence.unless(logged.isEmpty)(s"the ${mode.name} query was refused, but not before its epochs $logged")
  }
}

final private class KilledSink(promise: Promise, step: Step, scene: SinkScene) extends Victim(promise, step, scene) {

  override val query: QuerySpec = scene.query(stepped = true)

  override def feed(assertRunning: () => Unit): Unit = scene.setAvailable(query, 2L * Batch)

  override def continues: Boolean = step == Step.InSinkCommit

  override def isVisible: Boolean = Try(scene.stored()).toOption.exists(_.size > Batch)

  override def recover(): Unit = {
    val found = scene.stored()
    scene.assertWhole(s"killed ${step.claim}", found)
    val notYet = step == Step.AfterOffsets || step == Step.InTasks || step == Step.BeforeSinkCommit
    if (notYet && scene.fixture.showsWholeEpochs)
      scene.assertHolds(s"killed ${step.claim}, before the restart", Batch.toLong)
    scene.setAvailable(query, 4L * Batch)
    scene.write(query, 4)
    scene.assertHolds(s"killed ${step.claim}, after the restart", 4L * Batch)
  }
}

/** A query in continuous or real-time mode. It is killed in the middle of its rows. */
final private class EndlessVictim(promise: Promise, mode: Mode, scene: SinkScene)
    extends Victim(promise, Step.InTasks, scene) {
  import EndlessVictim._

  override val query: QuerySpec = scene.query().in(mode)

  override def feed(assertRunning: () => Unit): Unit = {
    scene.setAvailable(query, Batch.toLong)
    val first = QueryWatch.until() {
      assertRunning()
      Try(scene.stored()).toOption.exists(_.size >= Batch)
    }
    Evidence.unless(first)(s"the first $Batch rows were not written")
    scene.setAvailable(query, Many)
  }

  override def continues: Boolean = true

  override def isVisible: Boolean = Try(scene.stored()).toOption.exists(_.size >= VisibleRows)

  override def recover(): Unit = {
    val before = scene.stored()
    Evidence.onceEach("killed in the middle of its rows", before, before.distinct.size.toLong)
    Evidence.unless(before.size >= VisibleRows)(s"${before.size} rows were visible when the process was killed")
    // The second start resumes after a stop.
    (1 to 2).foreach { start =>
      val rows = before.max + 1 + start * Batch
      scene.setAvailable(query, rows)
      scene.running(query.start(Session.get())) { started =>
        val _ = QueryWatch.until() {
          !started.isActive || Try(scene.stored()).toOption.exists(_.distinct.size >= rows)
        }
        QueryWatch.assertNoError(started)
      }
      scene.assertHolds(s"start $start after the kill, ${mode.name}", rows)
    }
  }
}

private object EndlessVictim {

  /** More rows than a query can deliver before the kill. */
  val Many = 10000000L

  /** Minimum number of visible rows before the process is killed. */
  val VisibleRows: Int = 5 * Batch
}
