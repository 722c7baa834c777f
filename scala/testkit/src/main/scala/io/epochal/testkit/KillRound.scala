package io.epochal.testkit

import java.nio.file.Files
import java.util.concurrent.{Callable, ExecutionException, Executors}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Try}

import org.apache.commons.io.FileUtils

import io.epochal.testkit.engine.{ChildJvm, KillStep, QueryWatch}
import io.epochal.testkit.report.{Check, Promise}

/** Runs several queries in one process, each up to its step, and kills them together, because a process takes seconds to start. */
private[testkit] object KillRound {

  /** Epoch in which queries are killed, after one complete epoch. */
  val Epoch = 1L

  /** One check per promise. The first one that runs kills the process; the others report their part of the result. */
  def checks(promises: Seq[Promise])(kill: => Seq[(Promise, Try[Unit])]): Seq[Check] = {
    // If a promise has several kills, one failure breaks it.
    lazy val outcomes = kill.groupMapReduce(_._1)(_._2)((one, other) => if (one.isFailure) one else other)
    promises.map(promise => new Check(promise, () => outcomes(promise).get))
  }

  /** Creates victims, kills them and returns the result of each. Those that could not be created, as for an exempt promise, are
    * skipped.
    *
    * @param kills
    *   the step or mode of each
    */
  def run[S <: AutoCloseable, A](stage: Stage[_ <: Fixture, S], kills: Seq[(Promise, A)])(
      victim: (Promise, A, S) => Victim): Seq[(Promise, Try[Unit])] = {
    val starts = kills.map { case (promise, at) => promise -> stage.make(promise)(victim(promise, at, _)) }
    val victims = starts.flatMap(_._2.toOption)
    starts.collect { case (promise, Failure(why)) => promise -> Failure(why) } ++
      (if (victims.isEmpty) Nil else killAll(victims))
  }

  private def killAll(victims: Seq[Victim]): Seq[(Promise, Try[Unit])] = {
    val directory = Files.createTempDirectory("epochal-testkit")
    val child = new ChildJvm(directory, cores = 8 + 4 * victims.size)
    try {
      child.awaitReady()
      val arrivals = together(victims) { victim =>
        child.start(victim.query, victim.step, Epoch)
        victim.feed(child)
        child.await(victim.query, s"the query has not come to the step '${victim.step}' of epoch $Epoch")(
          child.hasReached(victim.query))
      }
      val (commits, endless) = victims.filter(_.continues).partition(_.step == KillStep.InSinkCommit)
      endless.foreach(victim => child.go(victim.query))
      if (endless.nonEmpty) { val _ = QueryWatch.until(millis = 30000)(endless.forall(_.isVisible)) }
      commits.foreach(victim => child.go(victim.query))
      if (commits.nonEmpty) { val _ = QueryWatch.until(millis = 20000, pauseMillis = 0)(commits.exists(_.isVisible)) }
      child.kill()
      val recoveries = together(victims)(_.recover())
      victims.map(_.promise).zip(arrivals.zip(recoveries).map { case (first, second) => first.flatMap(_ => second) })
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
