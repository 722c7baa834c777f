package io.epochal.rest.http

import java.io.{BufferedInputStream, IOException, InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/** A server that says to each connection what a test writes, from when it is made until it is closed.
  *
  * @param serve
  *   gets what comes, behind the request's head, and where to write; the connection ends when it returns. Called in a thread of the
  *   connection's own.
  * @param awaitHead
  *   whether it is called only when a request's head has come
  */
final class RawServer(awaitHead: Boolean = true)(serve: (InputStream, OutputStream) => Unit) extends AutoCloseable {
  private val accepted = new AtomicInteger
  private val open = ConcurrentHashMap.newKeySet[Socket]
  private val server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"))

  thread {
    while (true) {
      val socket = server.accept()
      open.add(socket)
      accepted.incrementAndGet()
      thread {
        try {
          val in = new BufferedInputStream(socket.getInputStream)
          if (awaitHead) while (line(in).nonEmpty) {}
          serve(in, socket.getOutputStream)
        } finally {
          open.remove(socket)
          socket.close()
        }
      }
    }
  }

  def port: Int = server.getLocalPort

  def url: String = s"http://127.0.0.1:$port/c"

  /** Connections so far. */
  def connections: Int = accepted.get

  override def close(): Unit = {
    server.close()
    open.forEach(_.close())
  }

  private def line(in: InputStream): String =
    Iterator.continually(in.read()).takeWhile(c => c >= 0 && c != '\n').filter(_ != '\r').map(_.toChar).mkString

  private def thread(body: => Unit): Unit = {
    val one = new Thread(() =>
      try body
      catch { case _: IOException => () }) // It, or who asked, is gone.
    one.setDaemon(true)
    one.start()
  }
}
