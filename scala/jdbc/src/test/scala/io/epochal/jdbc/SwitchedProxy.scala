package io.epochal.jdbc

import java.io.{InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket}

import scala.util.Try

/** A TCP proxy on this host, whose new connections lead to the current target port. */
final private[jdbc] class SwitchedProxy(first: Int) extends AutoCloseable {
  private val server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress)
  @volatile private var target = first

  def port: Int = server.getLocalPort
  def switchTo(port: Int): Unit = target = port

  background(
    Iterator
      .continually(Try(server.accept()))
      .takeWhile(_.isSuccess)
      .foreach(client => connect(client.get)))

  private def connect(client: Socket): Unit = {
    val upstream = new Socket(InetAddress.getLoopbackAddress, target)
    background(pump(client.getInputStream, upstream.getOutputStream))
    background(pump(upstream.getInputStream, client.getOutputStream))
  }

  private def pump(in: InputStream, out: OutputStream): Unit = {
    Try(in.transferTo(out)): Unit
    Try(out.close()): Unit
  }

  private def background(body: => Any): Unit = {
    val thread = new Thread(() => body: Unit)
    thread.setDaemon(true)
    thread.start()
  }

  override def close(): Unit = server.close()
}
