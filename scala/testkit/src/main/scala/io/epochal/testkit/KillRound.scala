package io.epochal.testkit

import java.nio.file.Files
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import io.epochal.testkit.engine.{ChildJvm, QuerySpec, QueryWatch, Step}
import io.epochal.testkit.report.{Check, Evidence, Promise}

/** A query that is killed at a step of an epoch, and the assertions about its recovery. */
abstract private[testkit] class Victim(val promise: Promise, val step: Step, scene: AutoCloseable)
    extends AutoCloseable {
  def query: QuerySpec

  /** Adds the rows that the query needs to reach its step. Called after the query was started in the other process.
    *
    * @param assertRunning
    *   throws the error that ended the query; call it while waiting
    */
  def feed(assertRunning: () => Unit): Unit

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
    lazy val found = kill.groupMap(_._1)(_._2).map { case (promise, all) =>
      promise -> all.find(_.isFailure).getOrElse(all.head)
    }
    promises.map(promise => new Check(promise, () => found(promise).get))
  }

  /** Kills the victims and returns the result of each. Victims that could not be created, as for an exempt promise, are skipped.
    */
  def run(made: Seq[(Promise, Try[Victim])]): Seq[(Promise, Try[Unit])] = {
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
        victim.feed(() => child.assertRunning(victim.query))
        val there = QueryWatch.until() {
          child.assertRunning(victim.query)
          child.hasReached(victim.query)
        }
        Evidence.unless(there)(s"the query has not come to the step '${victim.step.name}' of epoch $Epoch")
      }
      val (commits, endless) = victims.filter(_.continues).partition(_.step == Step.InSinkCommit)
      endless.foreach(victim => child.go(victim.query))
      if (endless.nonEmpty) { val _ = QueryWatch.until(seconds = 30)(endless.forall(_.isVisible)) }
      commits.foreach(victim => child.go(victim.query))
      if (commits.nonEmpty) { val _ = QueryWatch.until(seconds = 20, pauseMillis = 0)(commits.exists(_.isVisible)) }
      child.kill()
      val recovered = together(victims)(_.recover())
      victims.map(_.promise).zip(reached.zip(recovered).map { case (first, second) => first.flatMap(_ => second) })
    } finally {
      child.close()
      victims.foreach(_.close())
      Directories.delete(directory)
    }
  }

  private def together(victims: Seq[Victim])(body: Victim => Unit): Seq[Try[Unit]] = {
    val threads = Executors.newFixedThreadPool(victims.size)
    try {
      val tasks = victims.map { victim =>
        val task: Callable[Try[Unit]] = () =>
          try Success(body(victim))
          catch { case e: Throwable => Failure(e) }
        task
      }
      threads.invokeAll(tasks.asJava).asScala.map(_.get()).toSeq
    } finally threads.shutdownNow(): Unit
  }
}
