package io.epochal.rest.http

import java.util.concurrent.atomic.AtomicBoolean

/** A value in use until this is closed. */
final private[http] class Lease[V](val value: V, release: () => Unit) extends AutoCloseable {
  private val open = new AtomicBoolean(true)

  override def close(): Unit = if (open.compareAndSet(true, false)) release()
}
