package io.epochal.testkit

import scala.util.Try

import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.engine.{Logs, QuerySpec, QueryWatch, Session, Step}
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** A query over the source in a process that is killed, at each step of an epoch. */
private[testkit] object SourceKillChecks {

  private val steps: Seq[(Promise, Step)] = Seq(
    Acknowledged -> Step.BeforeOffsets,
    KillAfterOffsets -> Step.AfterOffsets,
    KillInTasks -> Step.InTasks,
    KillBeforeSinkCommit -> Step.BeforeSinkCommit,
    KillBeforeCommitLog -> Step.BeforeCommitLog
  )

  def of(newFixture: () => SourceFixture): Seq[Check] = KillRound.checks(steps.map(_._1)) {
    KillRound.killed(steps.map { case (promise, step) =>
      promise -> Try(new KilledSource(promise, step, openScene(newFixture, promise)))
    })
  }

  private def openScene(newFixture: () => SourceFixture, promise: Promise): SourceScene = {
    val scene = SourceScene.open(newFixture, promise)
    scene.fixture match {
      case _: FormatSource => scene
      case _ =>
        scene.close()
        throw new NotChecked("another process needs a format: the fixture is no FormatSource")
    }
  }
}

final private class KilledSource(override val promise: Promise, override val step: Step, scene: SourceScene)
    extends Victim {

  override val query: QuerySpec = scene.query()
  private val found = scene.deliveries(query)

  override def feed(assertRunning: () => Unit): Unit = {
    scene.add(12)
    val first = QueryWatch.until() {
      assertRunning()
      Logs.epochs(query.checkpoint, "commits").nonEmpty
    }
    Evidence.unless(first)("the first epoch was not logged as done")
    scene.add(8)
  }

  override def recover(): Unit =
    scene.running(query.start(Session.get())) { started =>
      val before = found.all.size
      scene.add(5)
      val _ = QueryWatch.run(started)(found.distinctRows >= scene.added)
      if (step == Step.BeforeCommitLog)
        Evidence.unless(found.all.drop(before).exists(_._1 == KillRound.Epoch))(
          s"epoch ${KillRound.Epoch} did not come again")
      scene.assertOnceEach(query, s"killed ${step.claim}")
    }

  override def close(): Unit = scene.close()
}
