package io.epochal.testkit

import scala.util.Try

import io.epochal.core.error.Conditions
import io.epochal.testkit.SinkScene.Batch
import io.epochal.testkit.engine.{ChildJvm, KillStep, Mode, QuerySpec, QueryWatch, Session}
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** Checks of a sink whose writing process is killed at each step of an epoch, or in the middle of endless tasks. */
private[testkit] object SinkKillChecks {
  import SinkPromises._

  private type Stage = io.epochal.testkit.Stage[FormatSink, SinkScene]

  /** Number of concurrent commits when the process is killed; they are at different instructions then. */
  private val Commits = 6

  /** Number of processes that are killed during commits. */
  private val rounds: Int = if (sys.env.get("EPOCHAL_CRASH").contains("full")) 10 else 1

  private val killedAt: Seq[(Promise, KillStep)] = Seq(
    KillAfterOffsets -> KillStep.AfterOffsets,
    KillInTasks -> KillStep.InTasks,
    KillBeforeSinkCommit -> KillStep.BeforeSinkCommit,
    KillBeforeCommitLog -> KillStep.BeforeCommitLog,
    KillAfterCommitLog -> KillStep.AfterCommitLog
  )

  private val modes: Seq[(Promise, Mode)] = Seq(Continuous -> Mode.Continuous, RealTime -> Mode.RealTime)

  def of(stage: Stage): Seq[Check] = steps(stage) ++ endless(stage)

  private def steps(stage: Stage): Seq[Check] = KillRound.checks(ofKills) {
    val commits = Seq.fill(Commits)(RowsWithLedger -> KillStep.InSinkCommit)
    round(stage, killedAt ++ commits) ++ (1 until rounds).flatMap(_ => round(stage, commits))
  }

  private def round(stage: Stage, kills: Seq[(Promise, KillStep)]): Seq[(Promise, Try[Unit])] =
    KillRound.run(stage, kills)(new SinkKill(_, _, _))

  /** Checks of queries with endless tasks. If the sink supports the mode, the query is killed in the middle of its rows; if not, the
    * sink must refuse it. The first check kills the process; the other reports its part of the result.
    */
  private def endless(stage: Stage): Seq[Check] = {
    lazy val outcomes = KillRound
      .run(stage, modes) { (promise, mode, scene) =>
        if (scene.supports(mode)) new EndlessVictim(promise, mode, scene)
        else throw new NotChecked(s"the sink does not support ${mode.name} mode")
      }
      .toMap
    modes.map { case (promise, mode) =>
      stage.check(promise) { scene =>
        if (scene.supports(mode)) outcomes(promise).get else assertNoEpoch(scene, mode)
      }
    }
  }

  private def assertNoEpoch(scene: SinkScene, mode: Mode): Unit = {
    val query = scene.query().in(mode)
    scene.setAvailable(query, 2L * Batch)
    scene.assertRefused(Conditions.TriggerUnsupported, s"a ${mode.name} query", query, scene.fixture.reports)
    scene.assertHolds(s"after a ${mode.name} query was refused", 0L)
    val epochs = query.committed
    Evidence.unless(epochs.isEmpty)(s"the ${mode.name} query was refused, but not before its epochs $epochs")
  }
}

final private class SinkKill(promise: Promise, step: KillStep, scene: SinkScene) extends Victim(promise, step, scene) {

  override val query: QuerySpec = scene.query(stepped = true)

  override def feed(child: ChildJvm): Unit = scene.setAvailable(query, 2L * Batch)

  override def continues: Boolean = step == KillStep.InSinkCommit

  override def isVisible: Boolean = Try(scene.stored()).toOption.exists(_.size > Batch)

  override def recover(): Unit = {
    val rows = scene.stored()
    scene.assertWhole(s"killed ${step.claim}", rows)
    val notYet = step == KillStep.AfterOffsets || step == KillStep.InTasks || step == KillStep.BeforeSinkCommit
    if (notYet && scene.fixture.showsWholeEpochs)
      scene.assertHolds(s"killed ${step.claim}, before the restart", Batch.toLong)
    scene.write(query, 4)
    scene.assertHolds(s"killed ${step.claim}, after the restart", 4L * Batch)
  }
}

/** A query in continuous or real-time mode. It is killed in the middle of its rows. */
final private class EndlessVictim(promise: Promise, mode: Mode, scene: SinkScene)
    extends Victim(promise, KillStep.InTasks, scene) {

  /** More rows than the query can deliver before the kill. */
  private val Many = 10000000L

  /** Minimum number of visible rows before the process is killed. */
  private val VisibleRows = 5L * Batch

  override val query: QuerySpec = scene.query().in(mode)

  private def shows(rows: Long): Boolean = Try(scene.stored()).toOption.exists(_.distinct.size >= rows)

  override def feed(child: ChildJvm): Unit = {
    scene.setAvailable(query, Batch.toLong)
    child.await(query, s"the first $Batch rows were not written")(shows(Batch.toLong))
    scene.setAvailable(query, Many)
  }

  override def continues: Boolean = true

  override def isVisible: Boolean = shows(VisibleRows)

  override def recover(): Unit = {
    val before = scene.stored()
    Evidence.onceEach("killed in the middle of its rows", before, before.distinct.size.toLong)
    Evidence.unless(before.size >= VisibleRows)(s"${before.size} rows were visible when the process was killed")
    // The second start resumes after a stop.
    (1 to 2).foreach { start =>
      val rows = before.max + 1 + start * Batch
      scene.setAvailable(query, rows)
      scene.running(query.start(Session.get())) { run =>
        val _ = QueryWatch.until()(!run.isActive || shows(rows))
        QueryWatch.assertNoError(run)
      }
      scene.assertHolds(s"start $start after the kill, ${mode.name}", rows)
    }
  }
}
