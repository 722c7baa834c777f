package io.epochal.testkit

import java.nio.file.Files
import java.util.concurrent.{Callable, Executors}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import io.epochal.testkit.engine.{ChildJvm, QuerySpec, QueryWatch, Step}
import io.epochal.testkit.report.{Check, Evidence, Promise}

/** A query that is going to be killed at a step of an epoch, and what must be true afterwards. */
abstract private[testkit] class Victim(val promise: Promise, val step: Step, scene: AutoCloseable)
    extends AutoCloseable {
  def query: QuerySpec

  /** Gives the query the rows that it needs to come to its step; called once it has started in the other process.
    *
    * @param assertRunning
    *   to be called while waiting: throws the error that ended the query
    */
  def feed(assertRunning: () => Unit): Unit

  /** Whether it continues once all have reached their steps, until it is killed. */
  def goOn: Boolean = false

  /** Whether a query that continues has come far enough to be killed. */
  def isVisible: Boolean = true

  /** Runs the query again, in this process, and asserts what it did. */
  def recover(): Unit

  final override def close(): Unit = scene.close()
}

/** Queries side by side in one process, each at its step, and one kill for all: a process takes seconds to start. */
private[testkit] object KillRound {

  /** The epoch in which queries are killed: one is whole before it. */
  val Epoch = 1L

  /** A check for each promise. The first that is run makes the kills; the others report what was found. */
  def checks(promises: Seq[Promise])(kill: => Seq[(Promise, Try[Unit])]): Seq[Check] = {
    // Of several kills for one promise, one that finds something is enough.
    lazy val found = kill.groupMap(_._1)(_._2).map { case (promise, all) =>
      promise -> all.find(_.isFailure).getOrElse(all.head)
    }
    promises.map(promise => new Check(promise, () => found(promise).get))
  }

  /** Kills the victims, and returns what was found of each. One that could not be made, such as that of an exempt promise, is not
    * killed.
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
      val (commits, endless) = victims.filter(_.goOn).partition(_.step == Step.InSinkCommit)
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
