package io.epochal.testkit

import java.nio.file.Files
import java.util.concurrent.{Callable, ExecutionException, Executors}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Try}

import org.apache.commons.io.FileUtils

import io.epochal.core.error.Conditions
import io.epochal.testkit.SinkScene.Batch
import io.epochal.testkit.engine.{ChildJvm, Mode, QuerySpec, QueryWatch, Session, Step}
import io.epochal.testkit.report.{Check, Evidence, NotChecked, Promise}

/** Checks of a source whose reading process is killed at each step of an epoch. */
private[testkit] object SourceKillChecks {
  import SourcePromises._

  private val steps: Seq[(Promise, Step)] = Seq(
    Acknowledged -> Step.BeforeOffsets,
    KillAfterOffsets -> Step.AfterOffsets,
    KillInTasks -> Step.InTasks,
    KillBeforeSinkCommit -> Step.BeforeSinkCommit,
    KillBeforeCommitLog -> Step.BeforeCommitLog
  )

  def of(stage: Stage[SourceFixture, SourceScene]): Seq[Check] = KillRound.checks(steps.map(_._1)) {
    KillRound.run(stage, steps) { (promise, step, scene) =>
      if (scene.fixture.isInstanceOf[FormatSource]) new KilledSource(promise, step, scene)
      else throw new NotChecked("another process needs a format: the fixture is no FormatSource")
    }
  }
}

final private class KilledSource(promise: Promise, step: Step, scene: SourceScene)
    extends Victim(promise, step, scene) {

  override val query: QuerySpec = scene.query()
  private val found = scene.deliveries(query)

  override def feed(child: ChildJvm): Unit = {
    scene.add(12)
    child.await(query, "the first epoch was not logged as done")(query.committed.nonEmpty)
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

/** Checks of a sink whose writing process is killed at each step of an epoch, or in the middle of endless tasks. */
private[testkit] object SinkKillChecks {
  import SinkPromises._

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
    KillRound.run(stage, wanted)(new KilledSink(_, _, _))

  /** Checks of queries with endless tasks. If the sink supports the mode, the query is killed in the middle of its rows; if not, the
    * sink must refuse it. The first check kills the process; the other reports its part of the result.
    */
  private def endless(stage: Stage): Seq[Check] = {
    lazy val found = KillRound
      .run(stage, modes) { (promise, mode, scene) =>
        if (scene.supports(mode)) new EndlessVictim(promise, mode, scene)
        else throw new NotChecked(s"the sink does not support ${mode.name} mode")
      }
      .toMap
    modes.map { case (promise, mode) =>
      stage.check(promise) { scene =>
        if (scene.supports(mode)) found(promise).get else refused(scene, mode)
      }
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

  override def feed(child: ChildJvm): Unit = scene.setAvailable(query, 2L * Batch)

  override def continues: Boolean = step == Step.InSinkCommit

  override def isVisible: Boolean = Try(scene.stored()).toOption.exists(_.size > Batch)

  override def recover(): Unit = {
    val found = scene.stored()
    scene.assertWhole(s"killed ${step.claim}", found)
    val notYet = step == Step.AfterOffsets || step == Step.InTasks || step == Step.BeforeSinkCommit
    if (notYet && scene.fixture.showsWholeEpochs)
      scene.assertHolds(s"killed ${step.claim}, before the restart", Batch.toLong)
    scene.write(query, 4)
    scene.assertHolds(s"killed ${step.claim}, after the restart", 4L * Batch)
  }
}

/** A query in continuous or real-time mode. It is killed in the middle of its rows. */
final private class EndlessVictim(promise: Promise, mode: Mode, scene: SinkScene)
    extends Victim(promise, Step.InTasks, scene) {

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
      scene.running(query.start(Session.get())) { started =>
        val _ = QueryWatch.until()(!started.isActive || shows(rows))
        QueryWatch.assertNoError(started)
      }
      scene.assertHolds(s"start $start after the kill, ${mode.name}", rows)
    }
  }
}

/** A query that is killed at a step of an epoch, and the assertions about its recovery. */
abstract private[testkit] class Victim(val promise: Promise, val step: Step, scene: AutoCloseable)
    extends AutoCloseable {
  def query: QuerySpec

  /** Adds the rows that the query needs to reach its step. Called after the query was started in the other process.
    */
  def feed(child: ChildJvm): Unit

  /** Whether the query continues after all queries have reached their steps, until the kill. */
  def continues: Boolean = false

  /** Whether a query that continues has progressed far enough to be killed. */
  def isVisible: Boolean = true

  /** Restarts the query in this process and asserts its result. */
  def recover(): Unit

  final override def close(): Unit = scene.close()
}

/** Runs several queries in one process, each up to its step, and kills them together, because a process takes seconds to start. */
private[testkit] object KillRound {

  /** Epoch in which queries are killed, after one complete epoch. */
  val Epoch = 1L

  /** One check per promise. The first one that runs kills the process; the others report their part of the result. */
  def checks(promises: Seq[Promise])(kill: => Seq[(Promise, Try[Unit])]): Seq[Check] = {
    // If a promise has several kills, one failure breaks it.
    lazy val found = kill.groupMapReduce(_._1)(_._2)((one, other) => if (one.isFailure) one else other)
    promises.map(promise => new Check(promise, () => found(promise).get))
  }

  /** Creates victims, kills them and returns the result of each. Those that could not be created, as for an exempt promise, are
    * skipped.
    *
    * @param kills
    *   the step or mode of each
    */
  def run[S <: AutoCloseable, A](stage: Stage[_ <: Fixture, S], kills: Seq[(Promise, A)])(
      victim: (Promise, A, S) => Victim): Seq[(Promise, Try[Unit])] = {
    val made = kills.map { case (promise, at) => promise -> stage.make(promise)(victim(promise, at, _)) }
    val victims = made.flatMap(_._2.toOption)
    made.collect { case (promise, Failure(why)) => promise -> Failure(why) } ++
      (if (victims.isEmpty) Nil else killed(victims))
  }

  private def killed(victims: Seq[Victim]): Seq[(Promise, Try[Unit])] = {
    val directory = Files.createTempDirectory("epochal-testkit")
    val child = new ChildJvm(directory, cores = 8 + 4 * victims.size)
    try {
      child.awaitReady()
      val reached = together(victims) { victim =>
        child.start(victim.query, victim.step, Epoch)
        victim.feed(child)
        child.await(victim.query, s"the query has not come to the step '${victim.step}' of epoch $Epoch")(
          child.hasReached(victim.query))
      }
      val (commits, endless) = victims.filter(_.continues).partition(_.step == Step.InSinkCommit)
      endless.foreach(victim => child.go(victim.query))
      if (endless.nonEmpty) { val _ = QueryWatch.until(millis = 30000)(endless.forall(_.isVisible)) }
      commits.foreach(victim => child.go(victim.query))
      if (commits.nonEmpty) { val _ = QueryWatch.until(millis = 20000, pauseMillis = 0)(commits.exists(_.isVisible)) }
      child.kill()
      val recovered = together(victims)(_.recover())
      victims.map(_.promise).zip(reached.zip(recovered).map { case (first, second) => first.flatMap(_ => second) })
    } finally {
      child.close()
      victims.foreach(_.close())
      FileUtils.deleteDirectory(directory.toFile)
    }
  }

  private def together(victims: Seq[Victim])(body: Victim => Unit): Seq[Try[Unit]] = {
    val threads = Executors.newFixedThreadPool(victims.size)
    try {
      val tasks = victims.map[Callable[Unit]](victim => () => body(victim))
      threads
        .invokeAll(tasks.asJava)
        .asScala
        .toSeq
        .map(task => Try(task.get()).recoverWith { case e: ExecutionException => Failure(e.getCause) })
    } finally threads.shutdownNow(): Unit
  }
}
