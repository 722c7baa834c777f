package io.epochal.testkit

import scala.util.Try

import io.epochal.core.error.Conditions
import io.epochal.testkit.SinkScene.Batch
import io.epochal.testkit.engine.{Logs, Mode, QuerySpec, QueryWatch, Session, Step}
import io.epochal.testkit.report.{Check, Evidence, Promise}

/** Queries whose tasks have no end: where the sink works in such a mode, the query is killed in the middle of its rows; where it
  * does not, it must refuse.
  */
private[testkit] object SinkModeChecks {

  private val modes: Seq[(Promise, Mode)] =
    Seq(SinkPromises.Continuous -> Mode.Continuous, SinkPromises.RealTime -> Mode.RealTime)

  /** The first of them that is run makes the kill; the other reports what it found. */
  def of(newFixture: () => FormatSink): Seq[Check] = {
    lazy val found = kill(newFixture)
    modes.map { case (promise, mode) =>
      new Check(
        promise,
        () =>
          SinkScene.in(newFixture, promise) { scene =>
            mode.trigger // or not checked
            if (scene.supports(mode)) found(promise).foreach(throw _) else refused(scene, mode)
          }
      )
    }
  }

  private def kill(newFixture: () => FormatSink): Map[Promise, Option[Throwable]] = {
    val victims = modes.filter { case (_, mode) => Try(mode.trigger).isSuccess }.flatMap { case (promise, mode) =>
      Try(SinkScene.open(newFixture, promise)).toOption.flatMap { scene =>
        if (scene.supports(mode)) Some(new EndlessVictim(promise, mode, scene))
        else {
          scene.close()
          None
        }
      }
    }
    KillRound.run(victims).toMap
  }

  private def refused(scene: SinkScene, mode: Mode): Unit = {
    val query = scene.query().in(mode)
    scene.setAvailable(query, 2L * Batch)
    val told = scene.fixture.tells(_, _)
    Refusal.of(Conditions.TriggerUnsupported, s"a ${mode.name} query", told) {
      scene.running(query.start(Session.get())) { started =>
        val _ = QueryWatch.until()(!started.isActive || scene.committed(query) > 0)
        started.exception.foreach(throw _)
      }
    }: Unit
    scene.assertHolds(s"after a ${mode.name} query was refused", 0L)
    val logged = Logs.epochs(query.checkpoint, "commits")
    Evidence.unless(logged.isEmpty)(s"the ${mode.name} query was refused, but not before its epochs $logged")
  }
}

/** A query without ends of epochs that Spark would know beforehand. It is killed while its rows come. */
final private class EndlessVictim(override val promise: Promise, mode: Mode, scene: SinkScene) extends Victim {
  import EndlessVictim._

  override val step: Step = Step.InTasks

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

  override def goOn: Boolean = true

  override def isVisible: Boolean = Try(scene.stored()).toOption.exists(_.size >= VisibleRows)

  override def recover(): Unit = {
    val before = scene.stored()
    Evidence.onceEach("killed in the middle of its rows", before, before.distinct.size.toLong)
    Evidence.unless(before.size >= VisibleRows)(s"${before.size} rows were visible when the process was killed")
    // Every second start goes on from a stop.
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

  override def close(): Unit = scene.close()
}

private object EndlessVictim {

  /** More than a query comes to. */
  val Many = 10000000L

  /** Rows that are there when the process is killed. */
  val VisibleRows: Int = 5 * Batch
}
