package io.epochal.kit.source.journal

import java.util.concurrent.{ExecutionException, FutureTask, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.PollBudgets

/** The thread in which a stream receives rows ahead while a batch runs: one task at a time, as in the stream's own thread. It
  * ends when it is idle.
  *
  * @param polls
  *   begun by the stream, for all supplies that share the thread
  */
final class ReadAhead(val polls: PollBudgets) extends AutoCloseable {
  final private val IdleSeconds = 10L
  private val thread = {
    val one = new ThreadPoolExecutor(
      1,
      1,
      IdleSeconds,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      new DaemonThreads("epochal-read-ahead"))
    one.allowCoreThreadTimeOut(true)
    one
  }

  def start(body: => Unit): WorkAhead = {
    val work = new WorkAhead(() => body)
    thread.execute(work.task)
    work
  }

  /** Interrupts the running task, and begins no other. Each [[WorkAhead]] must still be cancelled. */
  override def close(): Unit = {
    val _ = thread.shutdownNow()
  }
}

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
    catch { case failed: ExecutionException => throw failed.getCause }

  /** Interrupts the task. When this returns, it has ended or will never begin. */
  def cancel(): Unit = {
    val _ = task.cancel(true)
    synchronized(())
  }
}
