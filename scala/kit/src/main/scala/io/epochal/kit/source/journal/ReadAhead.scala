package io.epochal.kit.source.journal

import java.util.concurrent.{ExecutionException, FutureTask, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.PollBudgets

/** The thread of one stream in which is received what comes after a batch, while the batch runs: one thing at a time, as in the
  * stream's own thread. It ends when there is nothing to do.
  *
  * @param polls
  *   begun by the stream, for all supplies that share the thread
  */
final class ReadAhead(val polls: PollBudgets) extends AutoCloseable {
  private val thread = {
    val one = new ThreadPoolExecutor(
      1,
      1,
      ReadAhead.IdleSeconds,
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

  /** Breaks off what is done, and begins nothing more. Each [[WorkAhead]] must still be cancelled. */
  override def close(): Unit = {
    val _ = thread.shutdownNow()
  }
}

private object ReadAhead {
  private val IdleSeconds = 10L
}

/** Work that one thread begins, and another one does. */
final class WorkAhead private[journal] (body: () => Unit) {
  private[journal] val task: FutureTask[Unit] =
    new FutureTask[Unit](() => synchronized(if (!task.isCancelled) body()))

  /** Waits for its end.
    *
    * @throws Throwable
    *   what it threw
    */
  def await(): Unit =
    try task.get()
    catch { case failed: ExecutionException => throw failed.getCause }

  /** Breaks it off. When this returns it has ended, or never begins. */
  def cancel(): Unit = {
    val _ = task.cancel(true)
    synchronized(())
  }
}
