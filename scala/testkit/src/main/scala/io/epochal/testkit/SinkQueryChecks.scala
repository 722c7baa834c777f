package io.epochal.testkit

import scala.util.{Random, Try}

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.testkit.SinkPromises._
import io.epochal.testkit.SinkScene.Batch
import io.epochal.testkit.engine._
import io.epochal.testkit.report.Check

/** Checks of a sink under Spark's engine: restarts, replays, other queries. */
private[testkit] object SinkQueryChecks {

  private val Starts = 6

  def of(stage: Stage[FormatSink, SinkScene]): Seq[Check] = Seq(
    stage.check(Replay)(replay),
    stage.check(Restarts)(restarts(_, Random.nextLong())),
    stage.check(WholeEpochs)(wholeEpochs),
    stage.check(NewQuery)(newQuery)
  )

  private def replay(scene: SinkScene): Unit = {
    val query = scene.query()
    scene.write(query, 3)
    scene.assertHolds("after three epochs", 3L * Batch)
    query.forgetLastCommit()
    scene.write(query, 3)
    scene.assertHolds("after the third was replayed", 3L * Batch)
    scene.write(query, 4)
    scene.assertHolds("after a fourth", 4L * Batch)
  }

  private def restarts(scene: SinkScene, seed: Long): Unit = {
    val random = new Random(seed)
    val query = scene.query()
    // Commit one epoch first: a query that is stopped while Spark logs its first batch cannot be restarted, with any sink.
    scene.write(query, 1)
    var epochs = 1L
    (1 to Starts).foreach { _ =>
      epochs += 1 + random.nextInt(3)
      scene.setAvailable(query, epochs * Batch)
      scene.running(query.start(Session.get())) { running =>
        // Stops before, during or after any epoch.
        val until = random.nextLong(epochs + 1)
        val _ = QueryWatch.run(running)(scene.committed(query) >= until)
      }
    }
    scene.write(query, epochs)
    scene.assertHolds(s"after $Starts starts (seed $seed)", epochs * Batch)
  }

  private def wholeEpochs(scene: SinkScene): Unit = {
    val query = scene.query()
    val epochs = 6L
    scene.setAvailable(query, epochs * Batch)
    scene.running(query.start(Session.get())) { running =>
      val _ = QueryWatch.run(running) {
        Try(scene.stored()).foreach(scene.assertWhole("while the query runs", _))
        scene.committed(query) >= epochs
      }
    }
    scene.assertHolds(s"after $epochs epochs", epochs * Batch)
  }

  private def newQuery(scene: SinkScene): Unit = {
    val first = scene.query("first")
    scene.write(first, 2)
    val second = scene.query("second")
    scene.setAvailable(second, 2L * Batch)
    def isRefusal(error: Throwable, condition: Condition) =
      Seq(condition, Conditions.TargetShared).exists(scene.fixture.reports(error, _))
    scene.assertRefused(Conditions.QueryChanged, "a query with a new checkpoint", second, isRefusal)
    scene.assertHolds("after a query with a new checkpoint was started", 2L * Batch)
  }
}
