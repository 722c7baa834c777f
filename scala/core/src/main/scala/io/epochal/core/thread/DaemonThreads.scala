package io.epochal.core.thread

import java.util.concurrent.ThreadFactory

/** Creates daemon threads, which do not keep the JVM alive, with a common name. */
final private[epochal] class DaemonThreads(name: String) extends ThreadFactory {
  override def newThread(run: Runnable): Thread = {
    val thread = new Thread(run, name)
    thread.setDaemon(true)
    thread
  }
}
