package io.epochal.ingest.tcp

import org.slf4j.LoggerFactory

import io.epochal.core.error.{Conditions, EpochalException}

/** The one thread of a listener. It runs from its making until `body` returns.
  *
  * @param format
  *   for errors
  */
final private[tcp] class ListenerThread(name: String, format: String)(body: => Unit) {
  @volatile private var failed = Option.empty[EpochalException]

  private val thread = new Thread(() => run(), name)
  thread.setDaemon(true)
  thread.start()

  /** What it has failed with, if it has: nothing is received any more. */
  def failure: Option[EpochalException] = failed

  /** Interrupts what it waits for, and returns when it has ended. */
  def stop(): Unit = {
    thread.interrupt()
    thread.join()
  }

  /** Returns when it has ended. */
  def join(): Unit = thread.join()

  private def run(): Unit =
    try body
    catch {
      case e: Throwable =>
        failed = Some(Conditions.FeedFailed.because(e)("source" -> format, "reason" -> e.toString))
        ListenerThread.log.error(s"$format receives nothing more: $e", e)
    }
}

private object ListenerThread {
  private val log = LoggerFactory.getLogger(classOf[ListenerThread])
}
