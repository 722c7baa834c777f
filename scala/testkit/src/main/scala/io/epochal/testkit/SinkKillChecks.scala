package io.epochal.testkit

import scala.util.Try

import io.epochal.testkit.SinkPromises._
import io.epochal.testkit.engine.{QuerySpec, Step}
import io.epochal.testkit.report.{Check, Promise}

/** A query that writes to the sink in a process that is killed, at each step of an epoch. */
private[testkit] object SinkKillChecks {

  /** Commits that run when the process is killed: they are at different instructions then. */
  private val Commits = 6

  /** Processes that are killed during commits. */
  private val rounds: Int = if (sys.env.get("EPOCHAL_CRASH").contains("full")) 10 else 1

  private val steps: Seq[(Promise, Step)] = Seq(
    KillAfterOffsets -> Step.AfterOffsets,
    KillInTasks -> Step.InTasks,
    KillBeforeSinkCommit -> Step.BeforeSinkCommit,
    KillBeforeCommitLog -> Step.BeforeCommitLog,
    KillAfterCommitLog -> Step.AfterCommitLog
  )

  def of(newFixture: () => FormatSink): Seq[Check] = KillRound.checks(ofKills) {
    val commits = Seq.fill(Commits)(RowsWithLedger -> Step.InSinkCommit)
    round(newFixture, steps ++ commits) ++ (1 until rounds).flatMap(_ => round(newFixture, commits))
  }

  private def round(newFixture: () => FormatSink, wanted: Seq[(Promise, Step)]): Seq[(Promise, Try[Unit])] =
    KillRound.killed(wanted.map { case (promise, step) =>
      promise -> Try(new KilledSink(promise, step, SinkScene.open(newFixture, promise)))
    })
}

final private class KilledSink(override val promise: Promise, override val step: Step, scene: SinkScene)
    extends Victim {
  import SinkScene.Batch

  override val query: QuerySpec = scene.query(stepped = true)

  override def feed(assertRunning: () => Unit): Unit = scene.setAvailable(query, 2L * Batch)

  override def goOn: Boolean = step == Step.InSinkCommit

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

  override def close(): Unit = scene.close()
}
