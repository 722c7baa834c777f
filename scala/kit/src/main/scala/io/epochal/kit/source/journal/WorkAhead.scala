package io.epochal.kit.source.journal

import java.util.concurrent.{ExecutionException, FutureTask}

/** A task that one thread submits, and another one runs. */
final class WorkAhead private[journal] (body: () => Unit) {
  private[journal] val task: FutureTask[Unit] =
    new FutureTask[Unit](() => synchronized(if (!task.isCancelled) body()))

  /** Waits for the end of the task.
    *
    * @throws Throwable
    *   what the task threw
    */
  def await(): Unit =
    try task.get()
    catch { case error: ExecutionException => throw error.getCause }

  /** Interrupts the task. When this returns, it has ended or will never begin. */
  def cancel(): Unit = {
    val _ = task.cancel(true)
    synchronized(())
  }
}
