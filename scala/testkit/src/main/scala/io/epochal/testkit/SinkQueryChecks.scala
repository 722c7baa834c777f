package io.epochal.testkit

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.testkit.SinkPromises._
import io.epochal.testkit.SinkScene.Batch
import io.epochal.testkit.engine._
import io.epochal.testkit.report.{Check, Evidence}

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
      scene.running(query.start(Session.get())) { started =>
        // Stops before, during or after any epoch.
        val until = random.nextLong(epochs + 1)
        val _ = QueryWatch.run(started)(scene.committed(query) >= until)
      }
    }
    scene.write(query, epochs)
    scene.assertHolds(s"after $Starts starts (seed $seed)", epochs * Batch)
  }

  private def wholeEpochs(scene: SinkScene): Unit = {
    val query = scene.query()
    val epochs = 6L
    scene.setAvailable(query, epochs * Batch)
    scene.running(query.start(Session.get())) { started =>
      val _ = QueryWatch.run(started) {
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

/** Queries of one check that write numbers to the sink. */
final private[testkit] class SinkScene(fixture: FormatSink) extends Scene(fixture) {

  /** @param stepped
    *   whether the query can be paused at the sink's commit
    */
  def query(name: String = "query", stepped: Boolean = false): QuerySpec = {
    val scene = Files.createDirectories(directory.resolve(name))
    val source = Map("file" -> numbers(scene).toString, "batch" -> SinkScene.Batch.toString)
    val options = fixture.options.asScala.toMap
    val columns = fixture.columns.asScala.toSeq
    val query =
      QuerySpec(scene.toString, classOf[NumberedSource].getName, source, None, columns, fixture.format, options)
    val steps = Map(SteppedSink.Format -> fixture.format, SteppedSink.Scene -> scene.toString)
    if (stepped) query.copy(sink = classOf[SteppedSink].getName, sinkOptions = options ++ steps) else query
  }

  private def numbers(scene: Path): Path = scene.resolve("numbers")

  /** @throws io.epochal.testkit.report.NotChecked
    *   this Spark version does not have the mode
    */
  def supports(mode: Mode): Boolean = {
    val _ = mode.trigger
    fixture.modes.contains(mode.name)
  }

  /** Makes the numbers before `count` available to the query's source. */
  def setAvailable(query: QuerySpec, count: Long): Unit = NumberedSource.setAvailable(numbers(query.scene), count)

  def stored(): Seq[Long] = fixture.stored().asScala.map(_.longValue).toSeq

  /** Makes so many epochs available, runs the query until Spark has logged their commits, then stops it. Fails the check if the query
    * does not get there.
    */
  def write(query: QuerySpec, epochs: Long): Unit = {
    setAvailable(query, epochs * SinkScene.Batch)
    running(query.start(Session.get())) { started =>
      val done = QueryWatch.run(started)(committed(query) >= epochs)
      Evidence.unless(done)(s"${committed(query)} epochs were logged as done for $epochs")
    }
  }

  def committed(query: QuerySpec): Long = query.committed.lastOption.fold(0L)(_ + 1)

  /** Asserts that the query is refused before it commits an epoch. */
  def assertRefused(error: Condition, what: String, query: QuerySpec, test: (Throwable, Condition) => Boolean): Unit =
    Refusal.of(error, what, test) {
      running(query.start(Session.get())) { started =>
        val _ = QueryWatch.until()(!started.isActive || committed(query) > 0)
        started.exception.foreach(throw _)
      }
    }: Unit

  def assertHolds(what: String, count: Long): Unit = {
    val found = stored()
    Evidence.onceEach(what, found, count)
    Evidence.sameRows(what, found, 0L until count)
  }

  /** Asserts that the stored rows are whole epochs, without a gap. */
  def assertWhole(what: String, found: Seq[Long]): Unit = if (fixture.showsWholeEpochs)
    Evidence.unless(found.size % SinkScene.Batch == 0 && found.sorted == (0L until found.size.toLong))(
      s"$what: ${found.size} rows are visible, in epochs of ${SinkScene.Batch}: ${Evidence.shown(found.sorted)}")
}

private[testkit] object SinkScene {

  /** Rows per epoch. */
  val Batch = 10
}
