package io.epochal.rest.sink

import java.time.Duration
import java.util.concurrent.locks.ReentrantLock
import java.util.concurrent.{Future, ScheduledThreadPoolExecutor, TimeUnit}

import io.epochal.core.thread.DaemonThreads

/** Runs one task after an interval. */
private[rest] trait FlushTimer extends AutoCloseable {

  /** Schedules `flush` after the interval, in place of a pending one. */
  def start(flush: Runnable): Unit

  /** Cancels the pending task. */
  def stop(): Unit
}

/** A timer with its own thread, which begins with the first `start`. */
final private[rest] class ClockTimer(interval: Duration) extends FlushTimer {
  private val executor = new ScheduledThreadPoolExecutor(1, new DaemonThreads("epochal-rest-flush"))
  executor.setRemoveOnCancelPolicy(true)
  private var next = Option.empty[Future[_]]

  override def start(flush: Runnable): Unit = {
    stop()
    next = Some(executor.schedule(flush, interval.toNanos, TimeUnit.NANOSECONDS))
  }

  override def stop(): Unit = {
    next.foreach(_.cancel(false))
    next = None
  }

  /** Interrupts a running task. */
  override def close(): Unit = executor.shutdownNow(): Unit
}

/** Sends a request that has waited long enough for more rows, in the timer's thread: it does not depend on a next row.
  *
  * The task and the timer share the request. The task accesses it only in `exclusively`, and waits there while the
  * timer's thread sends. If that thread fails, the next `exclusively` throws its error: it fails the task's next row, or
  * its commit.
  *
  * @param send
  *   sends the pending rows
  */
final private[rest] class TimedFlush(timer: FlushTimer, send: () => Unit) extends AutoCloseable {
  private val lock = new ReentrantLock
  private var request = 0L
  private var failure = Option.empty[Throwable]
  @volatile private var closed = false

  /** Runs `body` under the lock. A task that is killed while it waits throws InterruptedException. */
  def exclusively[A](body: => A): A = {
    lock.lockInterruptibly()
    try {
      failure.foreach(throw _)
      body
    } finally lock.unlock()
  }

  /** In `exclusively`: a request has its first row. */
  def begun(): Unit = {
    val mine = request
    timer.start(() => flush(mine))
  }

  /** In `exclusively`: the request was sent. */
  def sent(): Unit = {
    request += 1
    timer.stop()
  }

  /** Interrupts a request that the timer's thread is sending; nothing is sent afterwards. */
  override def close(): Unit = {
    closed = true
    timer.close()
  }

  private def flush(begun: Long): Unit = {
    lock.lock()
    try if (begun == request && failure.isEmpty && !closed) send()
    catch { case error: Throwable => failure = Some(error) }
    finally lock.unlock()
  }
}
