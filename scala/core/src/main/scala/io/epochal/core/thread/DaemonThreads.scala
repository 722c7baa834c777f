package io.epochal.core.thread

import java.util.concurrent.ThreadFactory

/** Threads of one name that keep no JVM alive. */
final private[epochal] class DaemonThreads(name: String) extends ThreadFactory {
  override def newThread(run: Runnable): Thread = {
    val thread = new Thread(run, name)
    thread.setDaemon(true)
    thread
  }
}
