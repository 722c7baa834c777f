package io.epochal.spark.source.rest.supply

import java.util.concurrent.{ExecutionException, FutureTask, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

/** Threads of one stream, in which is received what comes after a batch while the batch runs. They end when there is nothing to do.
  *
  * @param threads
  *   how much is done at a time; the rest waits
  */
final private[rest] class ReadAhead(threads: => Int) {
  private lazy val pool = {
    val most = threads
    val pool = new ThreadPoolExecutor(
      most,
      most,
      ReadAhead.IdleSeconds,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable],
      (run: Runnable) => {
        val thread = new Thread(run, "epochal-rest-ahead")
        thread.setDaemon(true)
        thread
      }
    )
    pool.allowCoreThreadTimeOut(true)
    pool
  }

  def start(body: => Unit): WorkAhead = {
    val work = new WorkAhead(() => body)
    pool.execute(work.task)
    work
  }
}

private object ReadAhead {
  private val IdleSeconds = 10L
}

/** Work that one thread begins, and another one does. */
final private[rest] class WorkAhead(body: () => Unit) {
  private[supply] val task: FutureTask[Unit] =
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
