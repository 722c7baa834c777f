package io.epochal.testkit

import io.epochal.testkit.engine.{ChildJvm, KillStep, QuerySpec, QueryWatch, Session}
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** Checks of a source whose reading process is killed at each step of an epoch. */
private[testkit] object SourceKillChecks {
  import SourcePromises._

  private val steps: Seq[(Promise, KillStep)] = Seq(
    Acknowledged -> KillStep.BeforeOffsets,
    KillAfterOffsets -> KillStep.AfterOffsets,
    KillInTasks -> KillStep.InTasks,
    KillBeforeSinkCommit -> KillStep.BeforeSinkCommit,
    KillBeforeCommitLog -> KillStep.BeforeCommitLog
  )

  def of(stage: Stage[SourceFixture, SourceScene]): Seq[Check] = KillRound.checks(steps.map(_._1)) {
    KillRound.run(stage, steps) { (promise, step, scene) =>
      if (scene.fixture.isInstanceOf[FormatSource]) new SourceKill(promise, step, scene)
      else throw new NotChecked("another process needs a format: the fixture is no FormatSource")
    }
  }
}

final private class SourceKill(promise: Promise, step: KillStep, scene: SourceScene)
    extends Victim(promise, step, scene) {

  override val query: QuerySpec = scene.query()
  private val log = scene.deliveries(query)

  override def feed(child: ChildJvm): Unit = {
    scene.add(12)
    child.await(query, "the first epoch was not logged as done")(query.committed.nonEmpty)
    scene.add(8)
  }

  override def recover(): Unit =
    scene.running(query.start(Session.get())) { run =>
      val before = log.all.size
      scene.add(5)
      val _ = QueryWatch.run(run)(log.distinctRows >= scene.added)
      if (step == KillStep.BeforeCommitLog)
        Evidence
          .unless(log.all.drop(before).exists(_._1 == KillRound.Epoch))(s"epoch ${KillRound.Epoch} was not replayed")
      scene.assertOnceEach(query, s"killed ${step.claim}")
    }
}
