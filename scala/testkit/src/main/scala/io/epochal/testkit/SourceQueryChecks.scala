package io.epochal.testkit

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.streaming.Trigger

import io.epochal.testkit.SourcePromises._
import io.epochal.testkit.engine._
import io.epochal.testkit.report.{Check, Evidence, NotChecked}

/** Checks of a source under Spark's engine: restarts, replays, triggers. */
private[testkit] object SourceQueryChecks {

  private val Starts = 6
  private val SteadyRows = 40
  private val Undeclared =
    "the source has a continuous stream, and its fixture declares no modes: override modes() to " +
      "return Set.of(\"continuous\", \"real-time\"), or give the reason in exemptions()"

  def of(stage: Stage[SourceFixture, SourceScene]): Seq[Check] = Seq(
    stage.check(Replay)(replay),
    stage.check(CheckpointAlone)(checkpointAlone),
    stage.check(QueryAvailableNow)(availableNow),
    stage.check(Restarts)(restarts(_, Random.nextLong())),
    stage.check(ToContinuous)(switched(Mode.MicroBatch, Mode.Continuous)),
    stage.check(SteadyTasks)(steadyTasks),
    stage.check(FromRealTime)(switched(Mode.RealTime, Mode.MicroBatch))
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
      FileUtils.copyDirectory(original.checkpoint.toFile, restored.checkpoint.toFile)
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

  /** Sinks that store rows in the middle of an epoch recognise them by their place in their task. */
  private def steadyTasks(scene: SourceScene): Unit = {
    val source = inMode(scene, Mode.Continuous)
    if (source.receives) throw new NotChecked("declared: it receives rows only while a query runs")
    scene.add(SteadyRows)
    def run(start: Option[String], most: Int, total: Int): EndlessTasks = {
      val stream = source.newContinuousStream(scene.place("stream"))
      val tasks = EndlessTasks.read(stream, source.schema, start.map(stream.deserializeOffset), most, total)
      stream.stop()
      tasks
    }
    val first = run(None, Int.MaxValue, SteadyRows)
    val start = Some(first.start.json)
    Evidence.onceEach("of all tasks together", first.rows.flatten, SteadyRows.toLong)
    Evidence.equal("rows of each task, after a restart", run(start, Int.MaxValue, SteadyRows).rows, first.rows)
    val begun = run(start, SteadyRows / 10, SteadyRows)
    val rest = run(Some(begun.end.json), Int.MaxValue, SteadyRows - begun.rows.flatten.size)
    val whole = begun.rows.zipAll(rest.rows, Nil, Nil).map { case (before, after) => before ++ after }
    Evidence.equal("rows of each task, before and after a restart", whole, first.rows)
  }

  private def inMode(scene: SourceScene, mode: Mode): FormatSource = scene.fixture match {
    case named: FormatSource if named.modes.contains(mode.name)           => named
    case named: FormatSource if named.modes.isEmpty && named.isContinuous => Evidence.broken(Undeclared)
    case _: FormatSource => throw new NotChecked(s"declared: no ${mode.name} mode")
    case _               => throw new NotChecked(s"${mode.name} mode needs a format: the fixture is no FormatSource")
  }

  private def switched(first: Mode, second: Mode)(scene: SourceScene): Unit = {
    Seq(first, second).filterNot(_ == Mode.MicroBatch).foreach(inMode(scene, _))
    val query = scene.query()
    scene.deliver(query.in(first), 10)(scene.add(10))
    scene.deliver(query.in(second), 20)(scene.add(10))
    scene.assertOnceEach(query, s"${first.name}, then ${second.name}")
  }
}

/** Queries of one check over the source, with recorded deliveries. */
final private[testkit] class SourceScene(fixture: SourceFixture) extends Scene(fixture) {

  private val id = UUID.randomUUID().toString
  private val (format, options, schema) = fixture match {
    case named: FormatSource =>
      (named.format, named.options.asScala.toMap, Option(named.readerSchema).filter(_.nonEmpty))
    case made =>
      FixtureSource.register(id, made.schema)(made.newStream(_, 2))
      (classOf[FixtureSource].getName, Map("id" -> id), None)
  }

  @volatile var added = 0L

  def add(rows: Int): Unit = {
    fixture.makeAvailable(rows)
    added += rows
  }

  /** A path for something else of the check. */
  def place(name: String): Path = directory.resolve(name)

  /** Adds rows before the next start of a query. If the source must run to receive them, it runs for that. */
  def addBefore(query: QuerySpec, rows: Int): Unit = fixture match {
    case named: FormatSource if named.receives => deliver(query, added)(add(rows))
    case _                                     => add(rows)
  }

  /** A query with its own checkpoint and deliveries. */
  def query(name: String = "query"): QuerySpec = {
    val scene = directory.resolve(name)
    val sink = Map("directory" -> Files.createDirectories(scene.resolve("deliveries")).toString)
    QuerySpec(scene.toString, format, options, schema, Seq("*"), classOf[RecordingSink].getName, sink)
  }

  def deliveries(query: QuerySpec): Deliveries = new Deliveries(query.scene.resolve("deliveries"))

  /** Runs the query until it has delivered `count` rows, then stops it. Fails the check if it does not deliver them.
    *
    * @param meanwhile
    *   runs after the query has started
    */
  def deliver(query: QuerySpec, count: => Long)(meanwhile: => Any = ()): Unit = {
    val found = deliveries(query)
    running(query.start(Session.get())) { started =>
      val _ = meanwhile
      // After a stop between the sink's commit and Spark's, the next start would deliver the epoch again.
      def isCommitted = found.all.lastOption.forall { case (epoch, _) => query.committed.lastOption.exists(_ >= epoch) }
      val done = QueryWatch.run(started)(found.distinctRows >= count && (!started.isActive || isCommitted))
      if (!done) {
        Evidence.onceEach(s"delivered by the query '${query.scene.getFileName}'", found.rows, count)
        Evidence.broken(s"$count rows were delivered, and Spark has not logged that their epochs are done")
      }
    }
  }

  /** Asserts that every added row was delivered once and that replays delivered the same rows. */
  def assertOnceEach(query: QuerySpec, what: String): Unit = {
    val found = deliveries(query)
    found.sameWhenReplayed()
    found.onceEach(what, added)
  }

  override def close(): Unit = {
    FixtureSource.forget(id)
    super.close()
  }
}
