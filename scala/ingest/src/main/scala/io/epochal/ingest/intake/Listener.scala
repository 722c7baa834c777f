package io.epochal.ingest.intake

import java.io.IOException
import java.net.{InetSocketAddress, SocketAddress, StandardSocketOptions}
import java.nio.channels.ServerSocketChannel

import scala.util.Try
import scala.util.control.NonFatal

import io.epochal.core.error.{Conditions, EpochalException}

/** Receives records from clients on the driver and passes them to an [[Intake]]. Its port is bound from construction to `close`, which
  * returns when all threads of the listener have ended and the port is free. Clients that connect before `serve` wait.
  */
trait Listener extends AutoCloseable {

  /** Begins to receive. Called once. */
  def serve(intake: Intake): Unit

  /** The bound address, with the actual port if the options say 0. */
  def address: InetSocketAddress

  /** The error that ended the listener before `close`. */
  def finalError: Option[EpochalException] = None

  /** The listener's entries in the query's progress. Called by any thread. */
  def metrics: Map[String, String]
}

private[ingest] object Listener {

  /** The name of the format, for errors and logs. */
  val Format = "epochal-ingest"

  /** Connections that wait to be accepted. */
  private val Backlog = 128

  /** Binds an address.
    *
    * @throws io.epochal.core.error.EpochalException
    *   PORT_UNAVAILABLE
    */
  def bind(address: InetSocketAddress): ServerSocketChannel = {
    val channel = ServerSocketChannel.open()
    try {
      if (address.isUnresolved) throw new IOException("the host is not known")
      channel.setOption[java.lang.Boolean](StandardSocketOptions.SO_REUSEADDR, true)
      channel.bind(address, Backlog)
    } catch {
      case NonFatal(error) =>
        Try(channel.close()): Unit
        val reason = Option(error.getMessage).getOrElse(error.getClass.getSimpleName)
        val place = s"${address.getHostString}:${address.getPort}"
        throw Conditions.PortUnavailable.because(error)("format" -> Format, "address" -> place, "reason" -> reason)
    }
  }

  /** Closes a resource if the body fails. */
  def closing[A](resource: AutoCloseable)(body: => A): A =
    try body
    catch {
      case e: Throwable =>
        Try(resource.close()): Unit
        throw e
    }

  def addressOf(channel: ServerSocketChannel): InetSocketAddress =
    channel.getLocalAddress.asInstanceOf[InetSocketAddress]

  /** A client's address and port, in the format of the column `remote`. */
  def remoteText(client: SocketAddress): String = client match {
    case inet: InetSocketAddress if inet.getAddress != null =>
      val host = inet.getAddress.getHostAddress
      if (host.contains(':')) s"[$host]:${inet.getPort}" else s"$host:${inet.getPort}"
    case other => String.valueOf(other)
  }
}
