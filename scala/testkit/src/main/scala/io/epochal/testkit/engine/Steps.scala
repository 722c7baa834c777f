package io.epochal.testkit.engine

import java.util.concurrent.{ConcurrentHashMap, CountDownLatch}

/** Where the queries of this process stop: at most one step of each query.
  *
  * In a process where nothing is armed all of this does nothing. A query is known by its scene's directory.
  */
object Steps {

  final private case class Armed(step: Step, epoch: Long, reached: () => Unit, go: CountDownLatch)

  private val armed = new ConcurrentHashMap[String, Armed]

  /** Has a query wait at a step of an epoch.
    *
    * @param reached
    *   called there once
    */
  private[engine] def arm(scene: String, step: Step, epoch: Long)(reached: => Unit): Unit = {
    val _ = armed.put(scene, Armed(step, epoch, () => reached, new CountDownLatch(1)))
  }

  /** Lets a query go on. */
  private[engine] def go(scene: String): Unit = Option(armed.get(scene)).foreach(_.go.countDown())

  /** Called at each step of each query; returns at once, unless the query has to wait here. */
  private[engine] def at(scene: String, step: Step, epoch: Long): Unit =
    Option(armed.get(scene)).filter(one => one.step == step && one.epoch == epoch).foreach { one =>
      one.synchronized(if (one.go.getCount > 0) one.reached())
      // A stopped query interrupts its threads; here the process is going to be killed.
      while (one.go.getCount > 0)
        try one.go.await()
        catch { case _: InterruptedException => () }
    }

  /** The same for a path: the scene is the armed directory that holds it. */
  private[engine] def atPath(path: String, step: Step, epoch: Long): Unit =
    if (!armed.isEmpty)
      armed.keySet.forEach(scene => if (path.startsWith(scene + "/")) at(scene, step, epoch))
}
