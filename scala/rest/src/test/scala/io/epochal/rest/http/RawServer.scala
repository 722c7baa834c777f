package io.epochal.rest.http

import java.io.{BufferedInputStream, IOException, InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket}
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

/** A raw TCP server for hand-written responses.
  *
  * @param serve
  *   gets the input after the request's head, and the output; the connection closes when it returns. Called in a thread
  *   per connection
  * @param awaitHead
  *   whether it is called only after a request's head has arrived
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
      catch { case _: IOException => () }) // The server or the client has closed.
    one.setDaemon(true)
    one.start()
  }
}
