package io.epochal.core.journal

import java.util.concurrent.{ExecutionException, Executors, Future}

import scala.collection.mutable

import io.epochal.core.thread.DaemonThreads

/** Reads files in parallel, for stores where each request is slow. */
private[epochal] object ParallelReads {

  /** Maximum number of concurrent reads. */
  val Width = 16

  /** Maximum bytes of a file that is read whole, by one request. */
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
