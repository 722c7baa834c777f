package io.epochal.testkit.engine

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch}

/** The steps at which queries of this process pause: at most one per query, and only if armed. A query is identified by its scene's
  * directory.
  */
object Steps {

  final private case class Pause(step: KillStep, epoch: Long, onReach: () => Unit, go: CountDownLatch)

  private val pauses = new ConcurrentHashMap[String, Pause]

  /** Makes a query pause at a step of an epoch, where `onReach` is called once. */
  private[engine] def arm(scene: String, step: KillStep, epoch: Long)(onReach: => Unit): Unit =
    pauses.put(scene, Pause(step, epoch, () => onReach, new CountDownLatch(1))): Unit

  /** Lets a paused query continue. */
  private[engine] def go(scene: String): Unit = Option(pauses.get(scene)).foreach(_.go.countDown())

  /** Called at each step of each query; returns immediately unless the step is armed. */
  private[engine] def at(scene: String, step: KillStep, epoch: Long): Unit =
    Option(pauses.get(scene)).filter(one => one.step == step && one.epoch == epoch).foreach { one =>
      one.synchronized(if (one.go.getCount > 0) one.onReach())
      // Ignores the interrupt of a stopping query: this process will be killed.
      while (one.go.getCount > 0)
        try one.go.await()
        catch { case _: InterruptedException => () }
    }
}
