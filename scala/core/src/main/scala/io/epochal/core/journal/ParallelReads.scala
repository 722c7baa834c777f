package io.epochal.core.journal

import java.util.concurrent.{ExecutionException, Executors, Future}

import scala.collection.mutable

import io.epochal.core.thread.DaemonThreads

/** Reads files of a store that answers each request slowly. */
private[epochal] object ParallelReads {

  /** Reads at a time. */
  val Width = 16

  /** Bytes of a file up to which it is read whole, by one request. */
  val SmallFile: Long = 8L << 20

  /** Reads all items, at most `width` at a time, and passes on the results in order, in the caller's thread. */
  def apply[A, B](items: Seq[A], width: Int = Width)(read: A => B)(each: B => Unit): Unit =
    if (width <= 1 || items.sizeIs <= 1) items.foreach(item => each(read(item)))
    else {
      val pool = Executors.newFixedThreadPool(width, new DaemonThreads("epochal-reads"))
      val running = mutable.Queue.empty[Future[B]]
      def next(): Unit = each(
        try running.dequeue().get()
        catch { case e: ExecutionException => throw e.getCause })
      try {
        items.foreach { item =>
          if (running.size == width) next()
          running += pool.submit(() => read(item))
        }
        while (running.nonEmpty) next()
      } finally pool.shutdownNow(): Unit
    }
}
