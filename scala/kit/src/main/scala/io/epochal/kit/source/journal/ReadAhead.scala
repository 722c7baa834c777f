package io.epochal.kit.source.journal

import java.util.concurrent.{LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.source.PollBudgets

/** The thread in which a stream receives rows ahead while a batch runs: one task at a time, as in the stream's own thread. It
  * ends when it is idle.
  *
  * @param polls
  *   begun by the stream, for all supplies that share the thread
  */
final class ReadAhead(val polls: PollBudgets) extends AutoCloseable {
  private val queue = new LinkedBlockingQueue[Runnable]
  private val thread =
    new ThreadPoolExecutor(0, 1, 10L, TimeUnit.SECONDS, queue, new DaemonThreads("epochal-read-ahead"))

  def start(body: => Unit): WorkAhead = {
    val work = new WorkAhead(() => body)
    thread.execute(work.task)
    work
  }

  /** Interrupts the running task, and begins no other. Each [[WorkAhead]] must still be cancelled. */
  override def close(): Unit = thread.shutdownNow(): Unit
}
