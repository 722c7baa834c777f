package io.epochal.ingest.intake

import java.net.InetSocketAddress

import io.epochal.core.error.EpochalException

/** Receives from clients on the driver, and hands what it received to an [[Intake]]. It listens from its making to `close`.
  *
  * `close` returns when no thread of the listener is left and the port is free.
  */
trait Listener extends AutoCloseable {

  /** Where it listens; the port is the one that was bound, also where the options asked for port 0. */
  def address: InetSocketAddress

  /** Why it receives nothing any more, though nobody closed it. */
  def ended: Option[EpochalException] = None

  /** Its own entries in every progress. Asked by any thread. */
  def metrics: Map[String, String]
}
