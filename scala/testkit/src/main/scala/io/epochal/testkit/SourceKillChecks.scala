package io.epochal.testkit

import scala.util.{Failure, Success, Try}

import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.engine.{QuerySpec, QueryWatch, Session, Step}
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** Checks of a source whose reading process is killed at each step of an epoch. */
private[testkit] object SourceKillChecks {

  private val steps: Seq[(Promise, Step)] = Seq(
    Acknowledged -> Step.BeforeOffsets,
    KillAfterOffsets -> Step.AfterOffsets,
    KillInTasks -> Step.InTasks,
    KillBeforeSinkCommit -> Step.BeforeSinkCommit,
    KillBeforeCommitLog -> Step.BeforeCommitLog
  )

  def of(stage: Stage[SourceFixture, SourceScene]): Seq[Check] = KillRound.checks(steps.map(_._1)) {
    KillRound.run(steps.map { case (promise, step) =>
      promise -> Try(stage.open(promise)).flatMap { scene =>
        scene.fixture match {
          case _: FormatSource => Success(new KilledSource(promise, step, scene))
          case _ =>
            scene.close()
            Failure(new NotChecked("another process needs a format: the fixture is no FormatSource"))
        }
      }
    })
  }
}

final private class KilledSource(promise: Promise, step: Step, scene: SourceScene)
    extends Victim(promise, step, scene) {

  override val query: QuerySpec = scene.query()
  private val found = scene.deliveries(query)

  override def feed(assertRunning: () => Unit): Unit = {
    scene.add(12)
    val first = QueryWatch.until() {
      assertRunning()
      query.committed.nonEmpty
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
        Evidence
          .unless(found.all.drop(before).exists(_._1 == KillRound.Epoch))(s"epoch ${KillRound.Epoch} was not replayed")
      scene.assertOnceEach(query, s"killed ${step.claim}")
    }
}
